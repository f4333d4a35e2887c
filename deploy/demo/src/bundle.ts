import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { type BundleName, bundles } from './bundle-names.ts';

/** The oldest browser versions that can run the files: those of the middle of 2024. */
const target = ['chrome123', 'edge123', 'firefox128', 'safari17.5'];

/** Builds one file. The build reads no configuration files and no cache, so the same source gives the same bytes. */
export async function bundle(name: BundleName): Promise<string> {
  const { entry, format } = bundles[name];
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(import.meta.resolve(entry))],
    bundle: true,
    write: false,
    minify: true,
    format,
    target,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [shortStyles],
  });
  return outputFiles.map(({ text }) => text).join('');
}

/** Removes white space from the style sheets in `styles.ts`. The bundler does not minify them, because they are strings. */
const shortStyles: Plugin = {
  name: 'short-styles',
  setup(build) {
    build.onLoad({ filter: /\/styles\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8')
        .replaceAll(/\n\s*/gu, '\n')
        .replaceAll(/([:;{,]) +/gu, '$1');
      return { contents, loader: 'ts' };
    });
  },
};
