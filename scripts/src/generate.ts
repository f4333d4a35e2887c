import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateInto, lint, protos } from './generate/buf.ts';
import { drift } from './generate/drift.ts';
import { readOptions } from './read-options.ts';

const usage = `Generates protos/gen from the protos, after it has checked their style.

  scripts/generate [--check]

  --check  only compares: exit code 1 where a file is stale
`;

const options = readOptions(usage, { check: { type: 'boolean', default: false } });

const committed = join(protos, 'gen');

lint();
if (options.check) check();
else generateInto(protos);

function check(): void {
  const folder = mkdtempSync(join(tmpdir(), 'parley-generate-'));
  try {
    generateInto(folder);
    const stale = drift(join(folder, 'gen'), committed);
    for (const file of stale) console.error(`protos/gen/${file} is stale: run scripts/generate`);
    if (stale.length > 0) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
