import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drift } from './generate/drift.ts';
import { settingsTables } from './generate/settings-tables.ts';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

const usage = `Generates protos/gen from the protos, after it has checked their style, and the tables of settings in the READMEs.

  scripts/generate [--check]

  --check  only compares: exit code 1 where a file is stale
`;

const protos = join(root, 'protos');

const { check } = readOptions(usage, { check: { type: 'boolean' } });
buf('lint');
if (check) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-generate-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  generateInto(folder);
  const stale = drift(join(folder, 'gen'), join(protos, 'gen'));
  for (const file of stale) console.error(`protos/gen/${file} is stale: run scripts/generate`);
  if (stale.length > 0) process.exitCode = 1;
} else generateInto(protos);

for (const { path, text, isStale } of settingsTables(root)) {
  if (!isStale) continue;
  if (!check) writeFileSync(join(root, path), text);
  else {
    console.error(`The table of settings in ${path} is stale: run scripts/generate`);
    process.exitCode = 1;
  }
}

/** Writes the generated TypeScript and the reflection image of protos/ below `folder`, as `folder`/gen. */
function generateInto(folder: string): void {
  buf('generate', '--output', folder);
  buf('build', '--output', join(folder, 'gen/image.binpb'));
}

/** Throws when buf fails, which has then said why. */
function buf(...args: string[]): void {
  execFileSync(join(root, 'node_modules/.bin/buf'), args, { cwd: protos, stdio: ['ignore', 'inherit', 'inherit'] });
}
