import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

/** An empty folder that any user may pass through, deleted after the test. */
export function emptyFolder(t: Pick<ExecutionContext, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-servers-'));
  chmodSync(folder, 0o711);
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A signal that nobody raises. */
export const never = new AbortController().signal;
