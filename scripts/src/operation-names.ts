import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readContract } from '@parley/stories/contract';
import { readFieldRules } from '../../gateway/src/graph/field-rules.ts';
import { checkOperationNames } from './operation-names/check.ts';
import { root } from './root.ts';

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
