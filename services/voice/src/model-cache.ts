import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkModel } from './avatar-catalog.ts';
import { etagOf, type ModelFile } from './avatar-models.ts';

interface Kept {
  path: string;
  size: number;
  etag: string;
  /** Number of clients that are receiving the file. */
  readers: number;
}

export type ModelCache = ReturnType<typeof modelCache>;

/** The cache folders that this process has created. */
const ours = new Set<string>();

/** Creates an LRU cache of model files in a temporary folder, bounded by `maxBytes`. A file that is being sent is not evicted. */
export function modelCache(maxBytes: number) {
  const files = new Map<string, Kept>(); // least recently used first
  /** Files that were replaced while they were being sent. */
  const retired = new Set<Kept>();
  let bytes = 0;
  let folder: string | undefined;

  async function drop(name: string, kept: Kept): Promise<void> {
    files.delete(name);
    bytes -= kept.size;
    await rm(kept.path, { force: true });
  }

  /** Reserves `more` bytes, evicting files if needed. @throws Error if there is not enough room */
  async function take(more: number): Promise<void> {
    bytes += more;
    for (const [name, kept] of files) {
      if (bytes <= maxBytes) return;
      if (kept.readers === 0) await drop(name, kept);
    }
    if (bytes > maxBytes) throw new Error(`VOICE_MODELS_CACHE_BYTES (${maxBytes}) has no room for it`);
  }

  return {
    has: (name: string) => files.has(name),

    /** Opens an existing file. */
    async open(name: string): Promise<ModelFile | undefined> {
      const kept = files.get(name);
      if (!kept) return undefined;
      files.delete(name);
      files.set(name, kept);
      kept.readers += 1;
      try {
        return opened(kept, await open(kept.path));
      } catch {
        kept.readers -= 1; // another program has emptied the temporary folder
        if (kept.readers === 0 && files.get(name) === kept) await drop(name, kept);
        return undefined;
      }
    },

    /** Stores a file, replacing a file of the same name. @throws Error if the file is not a `.glb`, there is no room, or the body fails */
    async put(name: string, body: AsyncIterable<Uint8Array>): Promise<void> {
      folder ??= newFolder();
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, randomUUID());
      const hash = createHash('sha256');
      let size = 0;
      const file = await open(path, 'wx', 0o600);
      try {
        let head = Buffer.alloc(0);
        for await (const chunk of body) {
          if (head.length < 4) head = Buffer.concat([head, chunk.subarray(0, 4)]);
          if (head.length >= 4) checkModel(head);
          size += chunk.length;
          await take(chunk.length);
          hash.update(chunk);
          await file.writeFile(chunk);
        }
        checkModel(head);
      } catch (error) {
        bytes -= size;
        await rm(path, { force: true });
        throw error;
      } finally {
        await file.close();
      }
      const old = files.get(name);
      if (old) await retire(name, old);
      files.set(name, { path, size, etag: etagOf(hash.digest()), readers: 0 });
    },

    /** Deletes all files. */
    async clear(): Promise<void> {
      if (folder === undefined) return;
      await rm(folder, { recursive: true, force: true });
      ours.delete(folder);
      folder = undefined;
      files.clear();
      bytes = 0;
    },
  };

  /** Removes a file; its bytes count until its last reader has closed it. */
  async function retire(name: string, kept: Kept): Promise<void> {
    if (kept.readers === 0) return drop(name, kept);
    files.delete(name);
    retired.add(kept);
  }

  function opened(kept: Kept, handle: FileHandle): ModelFile {
    let isOpen = true;
    return {
      size: kept.size,
      etag: kept.etag,
      read: (start, end) => handle.createReadStream({ start, end, autoClose: false }),
      async close() {
        if (!isOpen) return;
        isOpen = false;
        kept.readers -= 1;
        await handle.close();
        if (kept.readers > 0 || !retired.delete(kept)) return;
        bytes -= kept.size;
        await rm(kept.path, { force: true });
      },
    };
  }
}

/** Creates a cache folder. Its name contains the pid, so that the leftovers of a killed process are found. */
function newFolder(): string {
  const prefix = `parley-models-${process.pid}-`;
  for (const name of readdirSync(tmpdir())) {
    const leftover = join(tmpdir(), name);
    if (name.startsWith(prefix) && !ours.has(leftover)) rmSync(leftover, { recursive: true, force: true });
  }
  const folder = mkdtempSync(join(tmpdir(), prefix));
  ours.add(folder);
  return folder;
}
