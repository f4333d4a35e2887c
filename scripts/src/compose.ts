import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { composeSupergraph } from './compose/supergraph.ts';

const file = 'gateway/supergraph.graphql';

const schemas = globSync('services/*/src/schema.graphql').toSorted();
const subgraphs = schemas.map((path) => ({ name: path.split('/')[1] ?? path, sdl: readFileSync(path, 'utf8') }));

try {
  const supergraph = composeSupergraph(subgraphs);
  const present = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (!process.argv.includes('--check')) {
    writeFileSync(file, supergraph);
    console.log(`${file}: composed of ${subgraphs.map(({ name }) => name).join(', ')}`);
  } else if (present !== supergraph) {
    throw new Error(`${file} is stale: run scripts/compose`);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
