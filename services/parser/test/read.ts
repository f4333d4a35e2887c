import type { ReadLimits } from '../src/file-problem.ts';
import { FileProblem, reasonOf } from '../src/file-problem.ts';
import type { FileType } from '../src/file-types.ts';
import type { ReadText } from '../src/markdown.ts';
import { readFile } from '../src/read-file.ts';
import { missingTexts } from './missing-texts.ts';

/** Limits with the default values of the settings. */
export const usualLimits: ReadLimits = {
  timeoutMs: 60_000,
  maxMemoryMb: 512,
  maxCharacters: 5_000_000,
  maxInflatedBytes: 256 * 2 ** 20,
  maxPages: 5_000,
};

/** Reads a file in this process. Fails if content of the file is missing in the text and not reported. */
export async function read(
  type: FileType,
  bytes: Uint8Array | string,
  limits: Partial<ReadLimits> = {},
): Promise<ReadText> {
  const found = await readFile({ type, bytes: Buffer.from(bytes) }, { ...usualLimits, ...limits });
  if (type === 'docx' || type === 'xlsx') {
    const missing = await missingTexts(type, Buffer.from(bytes), found.text);
    if (missing.length > 0 && !found.losses) throw new Error(`lost in silence: ${missing.join(' | ')}`);
  }
  return found;
}

export async function textOf(...file: Parameters<typeof read>): Promise<string> {
  return (await read(...file)).text;
}

/** Returns the message that the tenant gets for a file that cannot be read. */
export async function reasonFor(...[type, bytes, limits]: Parameters<typeof read>): Promise<string> {
  try {
    await read(type, bytes, limits);
  } catch (error) {
    if (error instanceof FileProblem) return reasonOf(error, type, { ...usualLimits, ...limits });
    throw error;
  }
  throw new Error('the file was read');
}
