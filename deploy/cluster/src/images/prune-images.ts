import type { Buildah } from './buildah.ts';

/** The number of previous images that are kept for each unit in addition to the current one. */
const keptOfUnit = 2;
const imageOfUnit = /^(localhost\/parley\/(?!base:)[^:]+):/u;

/** An image as `buildah images --json` lists it. */
export interface ListedImage {
  names: string[] | null;
  /** The time of the build, in seconds since 1970. */
  created: number;
}

/** Returns the names of images that are neither current nor among the newest of their unit. */
export function outdatedImages(listed: readonly ListedImage[], current: readonly string[]): string[] {
  const others = listed
    .toSorted((one, other) => other.created - one.created)
    .flatMap(({ names }) => names ?? [])
    .filter((name) => imageOfUnit.test(name) && !current.includes(name));
  const byUnit = Map.groupBy(others, (name) => imageOfUnit.exec(name)?.[1]);
  return [...byUnit.values()].flatMap((names) => names.slice(keptOfUnit));
}

/** Deletes outdated images, layers without an image, and the containers of interrupted builds. No build may run meanwhile. */
export async function pruneImages(buildah: Buildah, current: readonly string[]): Promise<void> {
  await buildah.run('rm', '--all');
  const outdated = outdatedImages(JSON.parse(await buildah.run('images', '--json')), current);
  if (outdated.length > 0) await buildah.run('rmi', ...outdated);
  await buildah.run('rmi', '--prune');
}
