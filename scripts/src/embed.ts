import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { bundle } from '@parley/demo/bundle';
import { type BundleName, bundles } from '@parley/demo/bundle-names';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

const usage = `Builds the chat widget and its client for web pages: DIR/parley-chat.js, DIR/parley-client.js and the client's types.

  scripts/embed DIR
`;

const { positionals } = readOptions(usage, {}, 1);

await attempt(async () => {
  const [folder] = positionals;
  if (!folder) throw new Error(`Give the folder to write to.\n\n${usage}`);
  mkdirSync(folder, { recursive: true });
  for (const name of Object.keys(bundles) as BundleName[]) {
    const text = await bundle(name);
    writeFileSync(join(folder, name), text);
    console.log(`${join(folder, name)}: ${(gzipSync(text, { level: 9 }).length / 1024).toFixed(1)} KB gzipped`);
  }
  const types = join(folder, 'types');
  const options = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--rewriteRelativeImportExtensions'];
  const compiler = [
    '-p',
    join(root, 'services/session/embed/tsconfig.types.json'),
    '--outDir',
    resolve(types),
    ...options,
  ];
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), compiler);
  writeFileSync(join(folder, 'parley-client.d.ts'), "export * from './types/client.js';\n");
  console.log(`${join(folder, 'parley-client.d.ts')}, with ${types}`);
});
