import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '@parley/kernel/errors';
import { type ObjectFacts, objectTooLarge } from '@parley/objects/object-store';

/**
 * The head of an object file. It has a fixed length and precedes the object's bytes. Head and bytes are in one file, so that a single
 * rename replaces both, and a reader never gets one without the other.
 */
export interface ObjectHead extends ObjectFacts {
  key: string;
}

/** Length of the head in bytes. It is enough for the JSON of any head, since keys and types are bounded. */
const headBytes = 4_096;
const mark = 'parley object 1 ';

/**
 * Writes an object to `incoming/`, syncs the file and renames it to its final name. No file remains after a write that fails, is cut off or
 * exceeds `maxBytes`. The ETag is the SHA-256 of the bytes.
 * @param beforeRename called when all bytes are written; if it throws, nothing is stored
 */
export async function writeObjectFile(
  target: { file: string; incoming: string },
  { key, contentType }: { key: string; contentType: string },
  bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { maxBytes = Number.POSITIVE_INFINITY, beforeRename }: { maxBytes?: number; beforeRename?: () => void },
): Promise<ObjectHead> {
  await mkdir(target.incoming, { recursive: true, mode: 0o700 });
  const draft = join(target.incoming, randomUUID());
  const handle = await open(draft, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    for await (const chunk of bytes) {
      if (sizeBytes + chunk.length > maxBytes) throw objectTooLarge(maxBytes);
      hash.update(chunk);
      await writeAll(handle, chunk, headBytes + sizeBytes);
      sizeBytes += chunk.length;
    }
    const head: ObjectHead = { key, contentType, etag: hash.digest('hex'), sizeBytes, lastModified: new Date() };
    await writeAll(handle, encodeHead(head), 0);
    await handle.sync();
    await handle.close();
    await mkdir(dirname(target.file), { recursive: true, mode: 0o700 });
    beforeRename?.();
    await rename(draft, target.file);
    await syncFolder(dirname(target.file));
    return head;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await unlink(draft).catch(() => undefined);
    throw error;
  }
}

/** An open object. Its bytes can be read to the end even if the object is replaced. */
export interface OpenObjectFile {
  head: ObjectHead;
  handle: FileHandle;
  /** The offset of the object's bytes in the file. */
  start: number;
}

/**
 * Opens an object file.
 * @returns undefined when the file does not exist.
 */
export async function openObjectFile(file: string): Promise<OpenObjectFile | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    const buffer = Buffer.alloc(headBytes);
    await handle.read(buffer, 0, headBytes, 0);
    const head = decodeHead(buffer);
    if ((await handle.stat()).size !== headBytes + head.sizeBytes) throw damaged();
    return { head, handle, start: headBytes };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ENOTDIR');
}

function encodeHead(head: ObjectHead): Buffer {
  const json = Buffer.from(mark + JSON.stringify(head));
  if (json.length > headBytes) throw new RangeError('The head of an object does not fit');
  return Buffer.concat([json, Buffer.alloc(headBytes - json.length, ' ')]);
}

function decodeHead(buffer: Buffer): ObjectHead {
  const text = buffer.toString('utf8');
  if (!text.startsWith(mark) || text.includes('\0')) throw damaged();
  const head: Omit<ObjectHead, 'lastModified'> & { lastModified: string } = JSON.parse(text.slice(mark.length));
  return { ...head, lastModified: new Date(head.lastModified) };
}

function damaged(): Error {
  return new Error('A file of the object store is damaged');
}

/** Writes all bytes: a single `write` may write only a part of them. */
async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}

/** Syncs the folder to make a rename durable, on systems that can open a folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
