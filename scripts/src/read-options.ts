import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/**
 * Parses the arguments of a command. With `--help` it prints the usage and exits with code 0; with unknown arguments it prints the
 * problem and the usage, and exits with code 2 before anything is done.
 * @param maxPositionals the maximum number of positional arguments.
 */
export function readOptions<Options extends ParseArgsOptionsConfig>(
  usage: string,
  options: Options,
  maxPositionals = 0,
) {
  try {
    const { values, positionals } = parseOptions(process.argv.slice(2), options, maxPositionals);
    const { help }: { help?: unknown } = values;
    if (!help) return { ...values, positionals };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
  process.stdout.write(usage);
  process.exit(0);
}

/** Parses the arguments of a command. @throws Error for unknown arguments, and for more than `maxPositionals` positional ones. */
export function parseOptions<Options extends ParseArgsOptionsConfig>(
  args: string[],
  options: Options,
  maxPositionals: number,
) {
  const parsed = parseArgs<{ options: Options; allowPositionals: true; args: string[] }>({
    args,
    options: { ...options, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  if (parsed.positionals.length > maxPositionals)
    throw new Error(`Unexpected argument: ${parsed.positionals[maxPositionals]}`);
  return parsed;
}
