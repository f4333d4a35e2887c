import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder } from '@parley/servers/testing/folder';
import test from 'ava';
import { buildImages } from './build-images.ts';

test("a build has the machine's registry settings, and leaves no copy, even if it fails", async (t) => {
  const [checkout, folder] = [emptyFolder(t), emptyFolder(t)];
  for (const path of ['deploy/docker', 'services/voice']) mkdirSync(join(checkout, path), { recursive: true });
  writeFileSync(join(checkout, 'deploy/docker/Dockerfile'), 'ARG NODE_IMAGE=node:24\nFROM scratch\n');
  writeFileSync(join(checkout, 'package.json'), '{ "workspaces": ["services/*"] }');
  writeFileSync(join(checkout, 'services/voice/package.json'), '{ "name": "@parley/voice" }');
  const npmrc = join(folder, 'npmrc');
  let [fails, builds] = [false, 0];
  const buildah = {
    has: async (image: string) => image === 'node:24',
    debootstrap: async () => '',
    async run(_: string, ...args: string[]) {
      if (!args.includes('--secret')) return '';
      t.true(args.includes(`id=npmrc,src=${npmrc}`) && existsSync(npmrc));
      builds++;
      if (fails) throw new Error('the build failed');
      return '';
    },
  };
  const signal = AbortSignal.timeout(60_000);
  const options = { buildah, checkout, installed: checkout, folder, units: ['voice'], signal, say: () => undefined };
  await buildImages(options);
  t.false(existsSync(npmrc));
  fails = true;
  await t.throwsAsync(buildImages(options), { message: 'the build failed' });
  t.false(existsSync(npmrc));
  t.is(builds, 2);
});
