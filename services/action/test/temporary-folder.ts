import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

/** Creates an empty folder that is removed at the end of the test. */
export function temporaryFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-action-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}
