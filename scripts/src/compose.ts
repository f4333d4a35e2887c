import { readFileSync, writeFileSync } from 'node:fs';
import { units } from '@parley/units';
import { attempt } from './attempt.ts';
import { composeSupergraph } from './compose/supergraph.ts';
import { readOptions } from './read-options.ts';

const usage = `Composes gateway/supergraph.graphql from the src/schema.graphql of each unit that serves a subgraph.

  scripts/compose [--check]

  --check  only compares; the exit code is 1 if the file is stale
`;

const { check } = readOptions(usage, { check: { type: 'boolean' } });

const file = 'gateway/supergraph.graphql';

const subgraphs = units
  .filter(({ serves }) => serves.includes('graph'))
  .map(({ name, folder }) => ({ name, sdl: readFileSync(`${folder}/src/schema.graphql`, 'utf8') }))
  .toSorted((one, other) => one.name.localeCompare(other.name));

await attempt(() => {
  const supergraph = composeSupergraph(subgraphs);
  if (!check) {
    writeFileSync(file, supergraph);
    console.log(`${file}: composed of ${subgraphs.map(({ name }) => name).join(', ')}`);
  } else if (readFileSync(file, 'utf8') !== supergraph) {
    throw new Error(`${file} is stale: run scripts/compose`);
  }
});
