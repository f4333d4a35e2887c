import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/**
 * The options of a command that takes nothing else. With `--help` it says how it is used and ends, with exit code 0; with one
 * that it does not know it says so as well, and ends with 2: nothing has been done then.
 */
export function readOptions<Options extends ParseArgsOptionsConfig>(usage: string, options: Options) {
  try {
    const parsed = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } }, strict: true });
    const { help }: { help?: unknown } = parsed.values;
    if (!help) return parsed.values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
  process.stdout.write(usage);
  process.exit(0);
}
