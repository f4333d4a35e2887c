import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { fontFiles } from '@parley/export/render-inputs';
import { unitNames, units } from '@parley/units';
import test from 'ava';
import { root } from '../root.ts';
import { imageContent, imageNames } from './image-content.ts';
import { makeImage } from './make-image.ts';

test('there is an image of every unit, and one of the commands', (t) => {
  t.deepEqual(imageNames(root).toSorted(), [...unitNames, 'commands'].toSorted());
});

test('the image of a unit contains its sources, and no sources of other units, tests or tools', (t) => {
  for (const { name, folder } of units) {
    const { main, files } = imageContent(root, name);
    t.is(main, `${folder}/src/main.ts`);
    t.true(files.includes(main));
    const others = units.filter((each) => each.name !== name).map((each) => `${each.folder}/`);
    const wrong = files.filter((file) => /(^|\/)(scripts|deploy|test|testing)\/|\.test\.ts$|\.md$/u.test(file));
    t.deepEqual([...wrong, ...files.filter((file) => others.some((other) => file.startsWith(other)))], [], name);
  }
  t.true(imageContent(root, 'gateway').files.includes('gateway/supergraph.graphql'));
  t.true(imageContent(root, 'commands').files.includes('protos/gen/image.binpb'), '`admin` reads its methods from it');
  t.true(imageContent(root, 'identity').files.includes('services/identity/src/passwords/common-passwords/list.txt'));
});

test('of packages with many unused files, an image contains the files that the unit lists, and the licences', (t) => {
  const { packageFiles } = imageContent(root, 'export');
  const patterns = Object.entries(packageFiles).flatMap(([name, kept]) => kept.map((pattern) => `${name}/${pattern}`));
  const isKept = (path: string) => patterns.some((pattern) => matchesGlob(path, pattern));
  const fonts = fontFiles().map((file) => file.slice(file.lastIndexOf('/node_modules/') + '/node_modules/'.length));
  t.deepEqual(
    fonts.filter((path) => !isKept(path)),
    [],
  );
  for (const name of Object.keys(packageFiles)) t.true(isKept(`${name}/LICENSE_FONT`), name);
  t.false(isKept('@expo-google-fonts/noto-sans-sc/900Black/NotoSansSC_900Black.ttf'));
  t.deepEqual(imageContent(root, 'gateway').packageFiles, {});
  const { packageFiles: ofParser, withoutPackages } = imageContent(root, 'parser');
  t.deepEqual(ofParser, { 'pdfjs-dist': ['cmaps/*', 'LICENSE'] });
  t.deepEqual(withoutPackages, ['@napi-rs/canvas', '@napi-rs/canvas-*']);
  t.deepEqual(imageContent(root, 'commands').packageFiles, { ...packageFiles, ...ofParser });
});

test('an unknown unit, and a folder with files, are refused', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-image-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const unknown = await t.throwsAsync(makeImage(root, 'nobody', folder));
  t.regex(unknown.message, /^There is no unit nobody, but .*gateway/u);
  writeFileSync(join(folder, 'notes.txt'), 'mine');
  const full = await t.throwsAsync(makeImage(root, 'gateway', folder));
  t.is(full.message, `${folder} is not empty`);
});

/** Reports whether `.dockerignore` excludes a file from the build. The last pattern that matches the file or a folder above it decides. */
function isIgnored(file: string): boolean {
  const parts = file.split('/');
  const paths = parts.map((_, n) => parts.slice(0, n + 1).join('/'));
  const lines = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const patterns = lines.filter((line) => line !== '' && !line.startsWith('#'));
  const last = patterns.findLast((line) => paths.some((path) => matchesGlob(path, line.replace(/^!/u, ''))));
  return last !== undefined && !last.startsWith('!');
}

test("a build's context contains the sources of images, and no packages, data, history or secrets", (t) => {
  const contents = imageNames(root).map((name) => imageContent(root, name));
  const needed = contents.flatMap(({ files, workspaces }) => [
    ...files,
    ...workspaces.map(({ folder }) => `${folder}/package.json`),
  ]);
  const script = ['image.ts', 'image/make-image.ts', 'root.ts'].map((file) => `scripts/src/${file}`);
  const all = ['package.json', 'package-lock.json', '.npmrc', 'deploy/docker/healthz.mjs', ...script, ...needed];
  t.deepEqual(
    all.filter((file) => isIgnored(file)),
    [],
  );
  const others = ['.git/config', '.parley/keys.json', '.env', 'deploy/compose/.env', 'node_modules/zod/package.json'];
  const inside = [
    'services/agent/node_modules/undici/index.js',
    'gateway/test/limits.test.ts',
    'charts/parley/Chart.yaml',
  ];
  t.deepEqual(
    [...others, ...inside].filter((file) => !isIgnored(file)),
    [],
  );
});
