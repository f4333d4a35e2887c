import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readContract } from '@parley/stories/contract';
import { readFieldRules } from '../../gateway/src/graph/field-rules.ts';
import { checkOperationNames } from './operation-names/check.ts';
import { root } from './root.ts';

const supergraph = readFileSync(join(root, 'gateway/supergraph.graphql'), 'utf8');
const services = globSync('services/*/src/main.ts', { cwd: root }).map((file) => String(file.split('/')[1]));
const operations = new Map<string, string | undefined>();
for (const name of [...readFieldRules(supergraph).keys(), ...readContract().keys()]) operations.set(name, undefined);
for (const service of services) {
  const schema = join(root, 'services', service, 'src/schema.graphql');
  const sdl = existsSync(schema) ? readFileSync(schema, 'utf8') : '';
  for (const name of sdl ? readFieldRules(sdl).keys() : []) operations.set(name, service);
}
// The chassis knows no service, so names in its tests and test helpers cannot mean an operation.
const testsOfChassis = /^services\/chassis\/(testing\/|.*\/test\/|.*\.test\.ts$)/u;
const files = globSync('{gateway,services,deploy,scripts}/**/*.{ts,mjs,js}', {
  cwd: root,
  exclude: (name) => name === 'node_modules',
}).filter((file) => !testsOfChassis.test(file));

const found = checkOperationNames(root, files.toSorted(), { operations, services });
for (const line of found) console.error(line);
if (found.length > 0) process.exitCode = 1;
else console.log(`${files.length} files, none treats an operation by its name`);
