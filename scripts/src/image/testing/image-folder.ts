import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import type { ExecutionContext } from 'ava';
import { root } from '../../root.ts';
import { makeImage } from '../make-image.ts';

/** Images as plain folders which nobody may write, and a Node, in a folder with nothing else; deleted after the test. */
export async function imageFolder(t: ExecutionContext, names: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-image-'));
  t.teardown(async () => {
    await exec('chmod', ['-R', 'u+w', folder]);
    rmSync(folder, { recursive: true });
  });
  await exec('chmod', ['755', folder]);
  copyFileSync(process.execPath, join(folder, 'node'));
  for (const name of names) t.log(name, await makeImage(root, name, join(folder, name)));
  await exec('chmod', ['-R', 'a-w', ...names.map((name) => join(folder, name))]);
  return folder;
}
