import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** Writes a message to the folder `outbox` of the data folder. The file is either complete or absent, and only its owner can read it. */
export async function writeToOutbox(dataFolder: string, fileName: string, content: string | Buffer): Promise<void> {
  const folder = resolve(dataFolder, 'outbox');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `.${fileName}`);
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, join(folder, fileName));
}
