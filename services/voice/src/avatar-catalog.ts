import { text } from '@parley/kernel/input';
import { z } from 'zod';

/** The path of model files at the service. */
export const modelsPath = 'avatars/models';
/** The file name of a catalogue. */
export const catalogName = 'models.json';

export const maxCatalogBytes = 1_000_000;
const maxModels = 1_000;

export interface AvatarModel {
  id: string;
  label: string;
  gender: string;
  /** The URL path of the model's file, relative to the service's address. */
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

/** The first bytes of every `.glb` file. */
const magic = 'glTF';

/** Checks that a file begins like a `.glb` file. @throws Error if it does not */
export function checkModel(content: Buffer): void {
  if (content.toString('latin1', 0, magic.length) !== magic) throw new Error('it is no .glb');
}

/** Returns the URLs of a catalogue and its folder, given the URL of either: a `.json` file, or a folder with `models.json`. */
export function catalogUrl(url: string): string {
  if (url.endsWith('.json')) return url;
  return new URL(catalogName, url.endsWith('/') ? url : `${url}/`).href;
}
