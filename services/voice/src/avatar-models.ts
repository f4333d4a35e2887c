import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Part } from '@parley/kernel/processes/unit';
import { type AvatarModel, catalogName, checkModel, fileName, readCatalog } from './avatar-catalog.ts';

/** An open file of a model; call `close` when done. */
export interface ModelFile {
  size: number;
  etag: string;
  /** Returns the bytes from one offset to another, both included. */
  read(from: number, to: number): Readable;
  close(): Promise<void>;
}

export interface AvatarModels extends Part {
  /** @throws DomainError `unavailable` if no list has been loaded yet */
  list(): Promise<AvatarModel[]>;
  /** Opens the file of a model by name (`aria.glb`). @throws DomainError `unavailable` if it cannot be fetched now */
  find(name: string): Promise<ModelFile | undefined>;
}

/** Creates the catalogue of the 3D models in a folder. The folder is read at start. Default: the folder `models` of this service. */
export function folderModels(folder = fileURLToPath(new URL('../models', import.meta.url))): AvatarModels {
  let models: AvatarModel[] = [];
  const files = new Map<string, ModelFile>();

  return {
    name: 'avatar models',
    async start() {
      const file = join(folder, catalogName);
      try {
        models = readCatalog(await readFile(file, 'utf8'));
        for (const name of models.map(fileName)) files.set(name, fileOf(await readFile(join(folder, name))));
      } catch (error) {
        throw new Error(`VOICE_MODELS_FOLDER: ${file} or a file that it names cannot be read: ${messageOf(error)}`, {
          cause: error,
        });
      }
    },
    stop: () => Promise.resolve(),
    list: () => Promise.resolve(models),
    find: (name) => Promise.resolve(files.get(name)),
  };
}

function fileOf(content: Buffer): ModelFile {
  checkModel(content);
  return {
    size: content.length,
    etag: etagOf(createHash('sha256').update(content).digest()),
    read: (from, to) => Readable.from([content.subarray(from, to + 1)]),
    close: () => Promise.resolve(),
  };
}

export function etagOf(sha256: Buffer): string {
  return `"${sha256.toString('base64url').slice(0, 22)}"`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
