import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { drift } from './drift.ts';

function folderOf(t: ExecutionContext, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-drift-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

test('a generated file that differs, is missing or is no longer generated is reported', (t) => {
  const expected = folderOf(t, { 'a/same.ts': '1', 'a/changed.ts': '1', 'missing.ts': '1' });
  const present = folderOf(t, { 'a/same.ts': '1', 'a/changed.ts': '2', 'b/left-over.ts': '1' });

  t.deepEqual(drift(expected, present), ['a/changed.ts', 'b/left-over.ts', 'missing.ts']);
});

test('the same files do not drift', (t) => {
  const files = { 'a/same.ts': '1' };
  t.deepEqual(drift(folderOf(t, files), folderOf(t, files)), []);
});
