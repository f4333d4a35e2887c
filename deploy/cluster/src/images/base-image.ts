import { copyFile, cp, mkdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exec, UnavailableError } from '@parley/servers/exec';
import type { Buildah } from './buildah.ts';

const registryUrl = 'https://registry-1.docker.io/v2/';
const reachedWithinMs = 5_000;
const debian = { suite: 'bookworm', mirror: 'http://deb.debian.org/debian', packages: 'ca-certificates,libstdc++6' };
/** Folders of Debian that no process in an image reads. */
const unread = ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/man', 'usr/share/locale', 'var/log'];

const file = `FROM scratch
COPY . /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["node"]
`;

interface BaseOptions {
  buildah: Buildah;
  checkout: string;
  /** The folder in which a Debian root file system is made. */
  folder: string;
  say(line: string): void;
}

/** Returns the base image that a Dockerfile names. @throws Error if it names none */
export async function namedBase(dockerfile: string): Promise<string> {
  const [, image] = /^ARG NODE_IMAGE=(\S+)$/mu.exec(await readFile(dockerfile, 'utf8')) ?? [];
  if (image === undefined) throw new Error(`${dockerfile} names no NODE_IMAGE`);
  return image;
}

/**
 * Makes sure that the builder has the base image. Pulls it from the registry; if the registry cannot be reached, builds an image of the
 * same name from Debian packages and this checkout's Node and npm.
 */
export async function ensureBase(image: string, { buildah, checkout, folder, say }: BaseOptions): Promise<void> {
  if (await buildah.has(image)) return;
  if (await isReached(registryUrl)) {
    say(`pulling ${image}`);
    await buildah.run('pull', image);
    return;
  }
  say(`no registry is reached: making ${image} of the packages of Debian ${debian.suite}, about a minute`);
  const root = join(folder, 'debian');
  await rm(root, { recursive: true, force: true });
  await mkdir(root, { recursive: true });
  const { suite, mirror, packages } = debian;
  await buildah.debootstrap('--variant=minbase', `--include=${packages}`, suite, root, mirror);
  await addNode(root, checkout);
  for (const path of unread) {
    await rm(join(root, path), { recursive: true, force: true });
    await mkdir(join(root, path), { recursive: true });
  }
  // The builder starts programs in this root without LD_LIBRARY_PATH, so the library cache must be complete.
  await exec('chroot', [root, 'ldconfig']);
  const recipe = join(folder, 'Base');
  await writeFile(recipe, file);
  await buildah.run('bud', '--isolation', 'chroot', '--format', 'docker', '--file', recipe, '--tag', image, root);
  await rm(root, { recursive: true, force: true });
}

/**
 * Returns the folder of npm's package.
 * @param command the command `npm`: a link to bin/npm-cli.js in the package
 * @throws UnavailableError if it leads elsewhere, as a wrapper script does
 */
export async function npmPackage(command: string): Promise<string> {
  const folder = join(await realpath(command), '../..');
  const manifest = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '{}');
  if (JSON.parse(manifest).name === 'npm') return folder;
  throw new UnavailableError(`${command} is no link into npm's package: put an npm that is one first in PATH`);
}

async function addNode(root: string, checkout: string): Promise<void> {
  const local = join(root, 'usr/local');
  await copyFile(join(checkout, 'node_modules/node/bin/node'), join(local, 'bin/node'));
  const command = (await exec('sh', ['-c', 'command -v npm'])).trim();
  const npm = await npmPackage(command);
  await mkdir(join(local, 'lib/node_modules'), { recursive: true });
  await cp(npm, join(local, 'lib/node_modules/npm'), { recursive: true, dereference: false });
  for (const name of ['npm', 'npx'])
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
}

async function isReached(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(reachedWithinMs) }).catch(() => undefined);
  // A registry requires a login at this URL; a proxy in its place would return another status.
  return answer?.status === 401 || answer?.status === 200;
}
