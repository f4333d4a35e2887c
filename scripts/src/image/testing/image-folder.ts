import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import type { ExecutionContext } from 'ava';
import { root } from '../../root.ts';
import { makeImage } from '../make-image.ts';

/**
 * Creates a folder with images, as read-only folders, and a copy of Node. The folder is deleted after the test.
 * @param checkout the checkout of another version; its own command makes the images
 */
export async function imageFolder(t: ExecutionContext, names: string[], checkout = root) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-image-'));
  t.teardown(async () => {
    await exec('chmod', ['-R', 'u+w', folder]);
    rmSync(folder, { recursive: true });
  });
  await exec('chmod', ['755', folder]);
  copyFileSync(process.execPath, join(folder, 'node'));
  for (const name of names) {
    const tree = join(folder, name);
    if (checkout === root) t.log(name, await makeImage(root, name, tree));
    else t.log(await exec(process.execPath, ['scripts/src/image.ts', name, tree], { cwd: checkout }));
  }
  await exec('chmod', ['-R', 'a-w', ...names.map((name) => join(folder, name))]);
  return folder;
}
