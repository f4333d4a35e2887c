import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { unitNames } from '@parley/units';
import { ensureBase, namedBase } from './base-image.ts';
import type { Buildah } from './buildah.ts';
import { imageKey } from './image-key.ts';

/** The names of all images: one for each unit, and `commands`. */
export const imageNames: readonly string[] = [...unitNames, 'commands'];

export interface BuiltImage {
  unit: string;
  /** The image's name in the builder's store. Its tag is the content key. */
  image: string;
}

export interface BuildOptions {
  buildah: Buildah;
  /** The folder with the files to build: this checkout, or the extracted files of another commit. */
  checkout: string;
  /** The checkout in which Node is installed. */
  installed: string;
  /** The folder for temporary build files. */
  folder: string;
  units: readonly string[];
  signal: AbortSignal;
  say(line: string): void;
}

/**
 * Builds images with the project's Dockerfile. Skips images whose content was built before.
 * @returns the images, and a tag computed from all their keys
 */
export async function buildImages(options: BuildOptions): Promise<{ tag: string; images: BuiltImage[] }> {
  const { buildah, checkout, installed, folder, units, say } = options;
  await mkdir(folder, { recursive: true });
  const dockerfile = join(checkout, 'deploy/docker/Dockerfile');
  const base = await ensureBase(await namedBase(dockerfile), { buildah, checkout: installed, folder, say });
  const recipe = join(folder, 'Dockerfile');
  await writeFile(recipe, await knownInstructions(buildah, folder, await readFile(dockerfile, 'utf8')));
  const images = units.map((unit) => ({ unit, image: `localhost/parley/${unit}:${imageKey(checkout, unit, base)}` }));
  const npmrc = join(folder, 'npmrc');
  try {
    const access = await packageAccess(npmrc);
    for (const { unit, image } of images) {
      if (await buildah.has(image)) continue;
      const begun = performance.now();
      const fixed = ['--isolation', 'chroot', '--format', 'docker', '--layers', '--pull-never', '--file', recipe];
      const chosen = ['--build-arg', `NODE_IMAGE=${base}`, '--build-arg', `UNIT=${unit}`];
      await buildah.run('bud', ...fixed, ...access, ...chosen, '--tag', image, checkout);
      say(`${unit}: built in ${((performance.now() - begun) / 1000).toFixed(0)} s`);
      options.signal.throwIfAborted();
    }
  } finally {
    await rm(npmrc, { force: true });
  }
  const tag = createHash('sha256')
    .update(images.map(({ image }) => image).join('\n'))
    .digest('hex')
    .slice(0, 12);
  return { tag, images };
}

/**
 * Returns the Dockerfile. Removes `--start-interval` from HEALTHCHECK if the builder is too old for this option; Kubernetes ignores
 * HEALTHCHECK.
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
 * Returns build options that give npm this machine's registry settings and additional certificate authorities. The build receives the
 * settings as a secret and the authorities as a volume, so neither becomes part of the image.
 * @param npmrc the file of the secret, which may contain the tokens of registries
 */
async function packageAccess(npmrc: string): Promise<string[]> {
  const own = join(homedir(), '.npmrc');
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  const inBuild = '/run/parley/ca.crt';
  const lines = [existsSync(own) ? await readFile(own, 'utf8') : '', authorities ? `cafile=${inBuild}\n` : ''];
  await writeFile(npmrc, lines.join('\n'), { mode: 0o600 });
  return ['--secret', `id=npmrc,src=${npmrc}`, ...(authorities ? ['--volume', `${authorities}:${inBuild}:ro`] : [])];
}
