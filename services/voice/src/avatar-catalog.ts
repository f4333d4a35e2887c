import { text } from '@parley/kernel/input';
import { z } from 'zod';

/** Where the files of models are, below the service's address. */
export const modelsPath = 'avatars/models';
/** The name of a catalogue in its folder. */
export const catalogName = 'models.json';

export const maxCatalogBytes = 1_000_000;
const maxModels = 1_000;

export interface AvatarModel {
  id: string;
  label: string;
  gender: string;
  /** Relative to the service's address. */
  path: string;
}

const catalogShape = z
  .array(
    z.object({
      id: z.string().regex(/^[a-z\d][a-z\d_-]{0,63}$/u, 'must be of small letters, digits, _ and -'),
      label: text(200),
      gender: text(50),
    }),
  )
  .max(maxModels)
  .refine((models) => new Set(models.map(({ id }) => id)).size === models.length, 'two models have the same id');

/** Reads a catalogue: `[{"id", "label", "gender"}]`. @throws Error that names what is wrong */
export function readCatalog(json: string): AvatarModel[] {
  const read = catalogShape.safeParse(JSON.parse(json));
  if (!read.success) throw new Error(z.prettifyError(read.error));
  return read.data.map((each) => ({ ...each, path: `${modelsPath}/${fileName(each)}` }));
}

export function fileName({ id }: Pick<AvatarModel, 'id'>): string {
  return `${id}.glb`;
}

/** What every `.glb` begins with. */
const magic = 'glTF';

/** @throws Error for what is no `.glb` by its first bytes */
export function checkModel(content: Buffer): void {
  if (content.toString('latin1', 0, magic.length) !== magic) throw new Error('it is no .glb');
}

/** The address of a catalogue, and of what stands beside it: the URL of a `.json`, or of the folder with `models.json`. */
export function catalogUrl(url: string): string {
  if (url.endsWith('.json')) return url;
  return new URL(catalogName, url.endsWith('/') ? url : `${url}/`).href;
}
