/** ava loads this module in each process before the test file. The module imports the other files that share the process. */
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import test from 'ava';
import { togetherVariable } from '../ava-run.ts';

const together: Record<string, string[]> = JSON.parse(process.env[togetherVariable] ?? '{}');
const checkout = process.cwd();
for (const file of together[relative(checkout, fileURLToPath(test.meta.file))] ?? []) {
  await import(pathToFileURL(join(checkout, file)).href);
}
