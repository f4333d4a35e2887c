import test from 'ava';
import { stepsFor } from './preparation.ts';
import { isSource } from './source-files.ts';

test('what runs counts as source; tests and what editors leave do not', (t) => {
  for (const path of ['gateway/src/main.ts', 'services/agent/src/schema.graphql', 'protos/parley/a.proto']) {
    t.true(isSource(path), path);
  }
  for (const path of [
    'gateway/src/main.test.ts',
    'services/chassis/src/testing/gate.ts',
    'a/.x.ts.swp',
    'a/x.ts~',
    'a/.x.ts',
  ]) {
    t.false(isSource(path), path);
  }
});

test('protos ask for code, schemas for the supergraph, other files for nothing', (t) => {
  const names = (...paths: string[]) => stepsFor(paths).map(({ name }) => name);

  t.deepEqual(names('gateway/src/main.ts', 'protos/gen/a.ts'), []);
  t.deepEqual(names('services/agent/src/schema.graphql'), ['compose']);
  t.deepEqual(names('services/agent/src/schema.graphql', 'protos/parley/a.proto'), ['generate', 'compose']);
});
