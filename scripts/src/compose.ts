import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { composeSupergraph } from './compose/supergraph.ts';
import { readOptions } from './read-options.ts';

const usage = `Composes gateway/supergraph.graphql from services/*/src/schema.graphql.

  scripts/compose [--check]

  --check  only compares: exit code 1 where the file is stale
`;

const { check } = readOptions(usage, { check: { type: 'boolean' } });

const file = 'gateway/supergraph.graphql';

const schemas = globSync('services/*/src/schema.graphql').toSorted();
const subgraphs = schemas.map((path) => ({ name: path.split('/')[1] ?? path, sdl: readFileSync(path, 'utf8') }));

try {
  const supergraph = composeSupergraph(subgraphs);
  const present = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (!check) {
    writeFileSync(file, supergraph);
    console.log(`${file}: composed of ${subgraphs.map(({ name }) => name).join(', ')}`);
  } else if (present !== supergraph) {
    throw new Error(`${file} is stale: run scripts/compose`);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
