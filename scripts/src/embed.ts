import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bundle } from '@parley/demo/bundle';
import { type BundleName, bundles } from '@parley/demo/bundle-names';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';

const usage = `Builds the chat widget and its client for a page: DIR/parley-chat.js and DIR/parley-client.js.

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
});
