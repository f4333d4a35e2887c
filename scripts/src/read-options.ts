import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/**
 * What was typed after a command. With `--help` it says how the command is used and ends, with exit code 0; with what the
 * command does not know it says so as well, and ends with 2: nothing has been done then.
 * @param most how many words it takes beside its options.
 */
export function readOptions<Options extends ParseArgsOptionsConfig>(usage: string, options: Options, most = 0) {
  try {
    const { values, positionals } = parseArgs<{ options: Options; allowPositionals: true }>({
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    const { help }: { help?: unknown } = values;
    if (positionals.length > most) throw new Error(`What is ${positionals[most]}?`);
    if (!help) return { ...values, positionals };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
  process.stdout.write(usage);
  process.exit(0);
}
