import { globSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import test from 'ava';
import { root } from '../root.ts';

/** Patterns of files, names of `namedInputs` in nx.json, and objects for inputs that are not files. */
type Inputs = (string | object)[];

/** Files that a check reads in addition to its code and imports. Any TypeScript file may belong to the code and imports of a check. */
const reads: Record<string, string[]> = {
  lockfile: ['package-lock.json'],
  generated: [
    '**/*.graphql',
    '**/package.json',
    '**/*.md',
    'protos/**/*.*',
    'gateway/**/*.json',
    'charts/parley/values.yaml',
    'deploy/compose/compose.yaml',
  ],
  supergraph: ['**/*.graphql', '**/package.json'],
  lint: ['**/package.json', '.oxlintrc.json', 'tsconfig.json'],
  format: ['**/*.{json,graphql}', 'biome.json'],
  'operation-names': ['**/*.{mjs,js}', 'gateway/*.{graphql,json}'],
  imports: ['**/package.json', '**/*.json'],
  links: ['**/*.{md,yaml,proto}'],
  words: ['**/*.{mjs,js,proto,graphql,sh,yaml,py}'],
};

const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'));
const { targets }: { targets: Record<string, { cache?: boolean; inputs: Inputs }> } = read('package.json').nx;
const { namedInputs }: { namedInputs: Record<string, Inputs> } = read('nx.json');

function patterns(inputs: Inputs): string[] {
  return inputs
    .filter((each) => typeof each === 'string')
    .flatMap((each) => {
      const named = namedInputs[each];
      return named ? patterns(named) : each.replace('{workspaceRoot}/', '');
    });
}

/** Returns the matching files of the checkout that Nx can see. Nx does not see files that git ignores. */
function files(wanted: string[]): string[] {
  const isIgnored = (path: string) => /(^|\/)(node_modules|\.tools|\.nx|\.parley|\.git)(\/|$)/u.test(path);
  return globSync(wanted, { cwd: root, exclude: isIgnored }).filter((path) => !isIgnored(path));
}

for (const [name, { inputs }] of Object.entries(targets).filter(([, { cache }]) => cache)) {
  test(`what is cached runs again when a file has changed that it reads: ${name}`, (t) => {
    const covered = patterns(inputs);
    const code = name === 'lockfile' ? 'scripts/**/*.ts' : '**/*.ts';
    const looksAt = files([code, ...(reads[name] ?? [])]);
    t.true(looksAt.length > 1);
    t.deepEqual(
      looksAt.filter((file) => !covered.some((pattern) => matchesGlob(file, pattern))),
      [],
    );
  });
}
