import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readContract } from '@parley/stories/contract';
import { readFieldRules } from '../../gateway/src/graph/field-rules.ts';
import { checkOperationNames } from './operation-names/check.ts';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

readOptions(
  `node scripts/src/operation-names.ts

Looks for source files, tests included, that treat an operation of the API in its own way by its name: what an operation needs
stands on its field in the schema. Says which files do, with exit code 1.
`,
  {},
);

const supergraph = readFileSync(join(root, 'gateway/supergraph.graphql'), 'utf8');
const operations = [...readFieldRules(supergraph).keys(), ...readContract().keys()];
const units = globSync('services/*', { cwd: root }).map((folder) => folder.slice(folder.lastIndexOf('/') + 1));
const files = globSync('{gateway,services,deploy,scripts}/**/*.{ts,mjs,js}', {
  cwd: root,
  exclude: (name) => name === 'node_modules',
});

const found = checkOperationNames(root, files.toSorted(), { operations, alsoOther: units });
for (const line of found) console.error(line);
if (found.length > 0) process.exitCode = 1;
else console.log(`${files.length} files, none treats an operation by its name`);
