import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { unitNames } from '@parley/units';
import { ensureBase, namedBase } from './base-image.ts';
import type { Buildah } from './buildah.ts';
import { imageKey } from './image-key.ts';

/** All images: of the units, and `commands`. */
export const imageNames: readonly string[] = [...unitNames, 'commands'];

export interface BuiltImage {
  unit: string;
  /** The image's name in the builder's store; it ends with the key of the content. */
  image: string;
}

export interface BuildOptions {
  buildah: Buildah;
  /** The checkout to build, or the files of another commit. */
  checkout: string;
  /** The checkout that has an installed Node. */
  installed: string;
  /** For what builds write beside images. */
  folder: string;
  units: readonly string[];
  signal: AbortSignal;
  say(line: string): void;
}

/**
 * Builds images by the project's Dockerfile, without those whose content was built before.
 * @returns them, and the tag that stands for all of them together.
 */
export async function buildImages(options: BuildOptions): Promise<{ tag: string; images: BuiltImage[] }> {
  const { buildah, checkout, installed, folder, units, say } = options;
  await mkdir(folder, { recursive: true });
  const dockerfile = join(checkout, 'deploy/docker/Dockerfile');
  const base = await namedBase(dockerfile);
  await ensureBase(base, { buildah, checkout: installed, folder, say });
  const recipe = join(folder, 'Dockerfile');
  await writeFile(recipe, await knownInstructions(buildah, folder, await readFile(dockerfile, 'utf8')));
  const access = await packageAccess(folder);
  const images = units.map((unit) => ({ unit, image: `localhost/parley/${unit}:${imageKey(checkout, unit, base)}` }));
  for (const { unit, image } of images) {
    if (await buildah.has(image)) continue;
    const begun = performance.now();
    const fixed = ['--isolation', 'chroot', '--format', 'docker', '--layers', '--pull-never', '--file', recipe];
    await buildah.run('bud', ...fixed, ...access, '--build-arg', `UNIT=${unit}`, '--tag', image, checkout);
    say(`${unit}: built in ${((performance.now() - begun) / 1000).toFixed(0)} s`);
    options.signal.throwIfAborted();
  }
  const tag = createHash('sha256')
    .update(images.map(({ image }) => image).join('\n'))
    .digest('hex')
    .slice(0, 12);
  return { tag, images };
}

/**
 * The Dockerfile as this builder reads it. Older ones do not know `--start-interval` of HEALTHCHECK, which nothing in Kubernetes
 * reads: then it is left out, and nothing else.
 */
async function knownInstructions(buildah: Buildah, folder: string, text: string): Promise<string> {
  const probe = join(folder, 'Probe');
  await writeFile(probe, 'FROM scratch\nHEALTHCHECK --start-interval=1s CMD ["true"]\n');
  const isKnown = await buildah.run('bud', '--isolation', 'chroot', '--format', 'docker', '--file', probe, folder).then(
    () => true,
    () => false,
  );
  return isKnown ? text : text.replace(/^(HEALTHCHECK .*?) --start-interval=\S+/mu, '$1');
}

/**
 * How npm reaches its registry during a build, by the Dockerfile's secret: as on this machine, with the authorities that this
 * machine's Node trusts besides. None of it is in an image.
 */
async function packageAccess(folder: string): Promise<string[]> {
  const own = join(homedir(), '.npmrc');
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  const inBuild = '/run/parley/ca.crt';
  const lines = [existsSync(own) ? await readFile(own, 'utf8') : '', authorities ? `cafile=${inBuild}\n` : ''];
  const file = join(folder, 'npmrc');
  await writeFile(file, lines.join('\n'), { mode: 0o600 });
  return ['--secret', `id=npmrc,src=${file}`, ...(authorities ? ['--volume', `${authorities}:${inBuild}:ro`] : [])];
}
