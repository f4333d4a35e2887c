import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Part } from '@parley/kernel/unit';
import { z } from 'zod';

/** Where the files of models are, below the service's address. */
export const modelsPath = 'avatars/models';

export interface AvatarModel {
  id: string;
  label: string;
  gender: string;
  /** Relative to the service's address. */
  path: string;
}

export interface ModelFile {
  content: Buffer;
  etag: string;
}

export interface AvatarModels extends Part {
  list(): AvatarModel[];
  /** The file of a model, by its name (`aria.glb`). */
  find(name: string): ModelFile | undefined;
}

const catalogShape = z.array(
  z.object({
    id: z.string().regex(/^[a-z\d][a-z\d_-]{0,63}$/u, 'must be of small letters, digits, _ and -'),
    label: z.string().min(1),
    gender: z.string().min(1),
  }),
);

/** The catalogue of 3D models in a folder, which is read at start. By default the folder `models` of this service. */
export function avatarModels(folder = fileURLToPath(new URL('../models', import.meta.url))): AvatarModels {
  let models: AvatarModel[] = [];
  const files = new Map<string, ModelFile>();

  return {
    name: 'avatar models',
    async start() {
      const file = join(folder, 'models.json');
      try {
        const catalog = catalogShape.parse(JSON.parse(await readFile(file, 'utf8')));
        for (const { id } of catalog) files.set(`${id}.glb`, fileOf(await readFile(join(folder, `${id}.glb`))));
        models = catalog.map((each) => ({ ...each, path: `${modelsPath}/${each.id}.glb` }));
      } catch (error) {
        throw new Error(`VOICE_MODELS_FOLDER: ${file} or a file that it names cannot be read: ${messageOf(error)}`, {
          cause: error,
        });
      }
    },
    stop: () => Promise.resolve(),
    list: () => models,
    find: (name) => files.get(name),
  };
}

function fileOf(content: Buffer): ModelFile {
  if (content.toString('latin1', 0, 4) !== 'glTF') throw new Error('it is no .glb');
  return { content, etag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"` };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
