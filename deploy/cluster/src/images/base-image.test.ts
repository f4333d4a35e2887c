import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder } from '@parley/servers/testing/folder';
import test from 'ava';
import { npmPackage } from './base-image.ts';

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
