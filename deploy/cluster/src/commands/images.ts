import { parseArgs } from 'node:util';
import { imageNames } from '../images/build-images.ts';
import { provideImages } from '../images/images.ts';
import { type Command, UsageError } from './command.ts';

export const run: Command = async ({ folders, args, signal, say, print }) => {
  const positionals = unitsIn(args);
  const unknown = positionals.find((unit) => !imageNames.includes(unit));
  if (unknown !== undefined) throw new UsageError(`${unknown}: unknown; known are ${imageNames.join(', ')}`);
  const units = positionals.length > 0 ? positionals : imageNames;
  const { tag } = await provideImages({ folders, units, signal, say });
  print(`${units.length} images have the tag ${tag}\n`);
  return 0;
};

function unitsIn(args: string[]): string[] {
  try {
    return parseArgs({ args, allowPositionals: true }).positionals;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
