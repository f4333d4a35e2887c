import { createHash } from 'node:crypto';
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
  /** Reports whether the registry can be reached. Default: sends a request to the registry. */
  reach?(): Promise<boolean>;
}

/** Returns the base image that a Dockerfile names. @throws Error if it names none */
export async function namedBase(dockerfile: string): Promise<string> {
  const [, image] = /^ARG NODE_IMAGE=(\S+)$/mu.exec(await readFile(dockerfile, 'utf8')) ?? [];
  if (image === undefined) throw new Error(`${dockerfile} names no NODE_IMAGE`);
  return image;
}

/**
 * Makes sure that the builder has a base image. If it has none, pulls the named image from its registry. If the registry cannot be reached,
 * makes an image from Debian packages and this checkout's Node and npm.
 * @returns the name of the base image. If the image was made here, its name contains a hash of its ingredients, so that a changed
 * ingredient changes the keys of all images built on it
 */
export async function ensureBase(image: string, options: BaseOptions): Promise<string> {
  const { buildah, checkout, say, reach = () => isReached(registryUrl) } = options;
  if (await buildah.has(image)) return image;
  const made = `localhost/parley/base:${await madeFrom(image, checkout)}`;
  if (await buildah.has(made)) return made;
  if (await reach()) {
    say(`pulling ${image}`);
    await buildah.run('pull', image);
    return image;
  }
  say(`no registry is reached: making ${image} of the packages of Debian ${debian.suite}, about a minute`);
  await makeBase(made, options);
  return made;
}

/** Returns a hash of the ingredients of a base image. The hash does not cover the versions of Debian's packages. */
async function madeFrom(image: string, checkout: string): Promise<string> {
  const node = await exec(nodeOf(checkout), ['--version']);
  const npm: { version: string } = JSON.parse(await readFile(join(await ownNpm(), 'package.json'), 'utf8'));
  const parts = [image, debian, unread, file, node.trim(), npm.version, process.arch];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

async function makeBase(name: string, { buildah, checkout, folder }: BaseOptions): Promise<void> {
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
  await buildah.run('bud', '--isolation', 'chroot', '--format', 'docker', '--file', recipe, '--tag', name, root);
  await rm(root, { recursive: true, force: true });
}

const nodeOf = (checkout: string) => join(checkout, 'node_modules/node/bin/node');

/** Returns the folder of npm's package, for the npm that is in PATH. */
async function ownNpm(): Promise<string> {
  return npmPackage((await exec('sh', ['-c', 'command -v npm'])).trim());
}

/**
 * Returns the folder of npm's package.
 * @param command the path of the command `npm`: a link to bin/npm-cli.js in the package
 * @throws UnavailableError if the command is no such link, for example a wrapper script
 */
export async function npmPackage(command: string): Promise<string> {
  const folder = join(await realpath(command), '../..');
  const manifest = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '{}');
  if (JSON.parse(manifest).name === 'npm') return folder;
  throw new UnavailableError(`${command} is no link into npm's package: put an npm that is one first in PATH`);
}

async function addNode(root: string, checkout: string): Promise<void> {
  const local = join(root, 'usr/local');
  await copyFile(nodeOf(checkout), join(local, 'bin/node'));
  await mkdir(join(local, 'lib/node_modules'), { recursive: true });
  await cp(await ownNpm(), join(local, 'lib/node_modules/npm'), { recursive: true, dereference: false });
  for (const name of ['npm', 'npx'])
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
}

async function isReached(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(reachedWithinMs) }).catch(() => undefined);
  // A registry requires a login at this URL. A proxy that answers for an unreachable registry would return another status.
  return answer?.status === 401 || answer?.status === 200;
}
