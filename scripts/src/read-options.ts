import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/**
 * Parses the arguments of a command. With `--help` it prints the usage and exits with code 0; with unknown arguments it prints the
 * problem and the usage, and exits with code 2 before anything is done.
 * @param most the maximum number of positional arguments.
 */
export function readOptions<Options extends ParseArgsOptionsConfig>(usage: string, options: Options, most = 0) {
  try {
    const { values, positionals } = parseArgs<{ options: Options; allowPositionals: true }>({
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    const { help }: { help?: unknown } = values;
    if (positionals.length > most) throw new Error(`Unexpected argument: ${positionals[most]}`);
    if (!help) return { ...values, positionals };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
  process.stdout.write(usage);
  process.exit(0);
}
