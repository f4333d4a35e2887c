import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@parley/servers/root';
import { emptyFolder, unabortedSignal } from '@parley/servers/testing/folder';
import test, { type ExecutionContext } from 'ava';
import { ensureBase, namedBase, npmPackage } from './base-image.ts';
import { buildImages } from './build-images.ts';
import type { Buildah } from './buildah.ts';

test("an image gets npm's own package, and nothing of the folders around a wrapper script", async (t) => {
  const folder = emptyFolder(t);
  for (const path of ['lib/npm/bin', 'bin']) mkdirSync(join(folder, path), { recursive: true });
  const [link, wrapper] = [join(folder, 'bin/npm'), join(folder, 'bin/wrapper')];
  writeFileSync(join(folder, 'lib/npm/package.json'), '{ "name": "npm" }');
  writeFileSync(join(folder, 'lib/npm/bin/npm-cli.js'), '');
  symlinkSync('../lib/npm/bin/npm-cli.js', link);
  writeFileSync(wrapper, '#!/bin/sh\n');
  t.is(await npmPackage(link), join(folder, 'lib/npm'));
  await t.throwsAsync(npmPackage(wrapper), { message: /wrapper is no link into npm's package/u });
  writeFileSync(join(folder, 'package.json'), '{ "name": "other" }');
  await t.throwsAsync(npmPackage(wrapper), { message: /wrapper is no link into npm's package/u });
});

/** A stub of the builder: it has these images, and calls `build` instead of building. */
function fakeBuildah(images: string[], build: (args: string[]) => void = () => undefined): Buildah {
  const run = async (command: string, ...args: string[]) => {
    if (command === 'bud' && args.includes('--tag')) build(args);
    return '';
  };
  return { run, has: async (image) => images.includes(image), debootstrap: async () => '' };
}

const named = () => namedBase(join(root, 'deploy/docker/Dockerfile'));
const quiet = { checkout: root, say: () => undefined };

/** Returns the name of the base image that contains this checkout's Node. */
async function madeBase(t: ExecutionContext): Promise<string> {
  const has = async (image: string) => image.startsWith('localhost/');
  const reach = async () => {
    throw new Error('the registry is asked although the builder has a base');
  };
  return ensureBase(await named(), { ...quiet, buildah: { ...fakeBuildah([]), has }, folder: emptyFolder(t), reach });
}

test('a made base image has a name of its own, with a hash of what it is made of', async (t) => {
  t.regex(await madeBase(t), /^localhost\/parley\/base:[0-9a-f]{16}$/u);
  const pulled = await named();
  t.is(await ensureBase(pulled, { ...quiet, buildah: fakeBuildah([pulled]), folder: emptyFolder(t) }), pulled);
});

test('images on a pulled and on a made base have different keys, and are built on it', async (t) => {
  const folder = emptyFolder(t);
  const built: string[][] = [];
  const options = { ...quiet, installed: root, folder, units: ['voice'], signal: unabortedSignal };
  for (const base of [await named(), await madeBase(t)]) {
    const { images } = await buildImages({ ...options, buildah: fakeBuildah([base], (args) => built.push(args)) });
    t.true(built.at(-1)?.includes(`NODE_IMAGE=${base}`));
    t.true(built.at(-1)?.includes(images[0]?.image ?? ''));
  }
  t.not(built[0]?.at(-2), built[1]?.at(-2));
});
