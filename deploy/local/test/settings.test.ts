import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';

import { schemas } from '../src/schemas.ts';
import { allSettings, settingsOfUnits } from '../src/settings.ts';
import { unitNames } from '../src/units.ts';

const root = join(import.meta.dirname, '../../..');
const folderOf = (unit: string) => (unit === 'gateway' ? unit : `services/${unit}`);
const imported = /import \{(?<names>[^}]*)\} from '@parley\/protos\/parley\/(?<unit>\w+)\/v1\/\w+'/gu;

/** The units whose gRPC services a unit has as values, its own apart: it calls them. */
function calledBy(unit: string): string[] {
  const files = globSync(`${folderOf(unit)}/src/**/*.ts`, { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const called = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(imported)].flatMap(({ groups }) =>
      /(?<!type )\b\w+ServiceDefinition\b/u.test(groups?.names ?? '') ? [groups?.unit ?? ''] : [],
    ),
  );
  return [...new Set(called)].filter((other) => other !== unit && unitNames.includes(other)).sort();
}

test('each unit declares the neighbours that it calls, and whether it keeps a schema', (t) => {
  t.deepEqual(settingsOfUnits.map(({ unit }) => unit).sort(), unitNames.toSorted());
  for (const { unit, calls, database } of settingsOfUnits) {
    t.deepEqual(calls.toSorted(), calledBy(unit), unit);
    t.is(
      database,
      schemas.some(({ name }) => name === unit),
      unit,
    );
  }
});

test('the gateway declares every subgraph of the supergraph', (t) => {
  const supergraph = readFileSync(join(root, 'gateway/supergraph.graphql'), 'utf8');
  const names = [...supergraph.matchAll(/@join__graph\(name: "(?<name>\w+)"/gu)].map(
    ({ groups }) => groups?.name ?? '',
  );
  const gateway = settingsOfUnits.find(({ unit }) => unit === 'gateway');
  t.deepEqual(gateway?.subgraphs.toSorted(), names.sort());
});

test('all settings of all units are listed, each once for a unit, and secrets without a default', (t) => {
  const all = allSettings();
  for (const [unit, settings] of Object.entries(all)) {
    const names = settings.map(({ name }) => name);
    t.deepEqual(names, [...new Set(names)], unit);
    for (const { name, secret, default: given, meaning } of settings) {
      t.regex(meaning, /^.{3,}\.$/su, name);
      if (secret) t.is(given, undefined, name);
    }
  }
  const required = Object.values(all)
    .flat()
    .filter((each) => each.required === 'always' && each.secret);
  t.deepEqual(required.map(({ name }) => name).sort(), [
    'AVATAR_TOKEN_KEYS',
    'MESH_KEY',
    'SECRETS_KEYS',
    'SECRETS_KEYS',
  ]);
});
