import { usesEvents } from '@parley/service/declaration';
import { type ListedUnit, units } from '@parley/units';
import test from 'ava';
import { allSettings, settingsOfUnit, sharedSettings } from '../src/settings.ts';

test('each unit is listed with the addresses of its neighbours, and of its database where it has one', (t) => {
  const addresses = Object.entries(allSettings()).flatMap(([unit, settings]) =>
    settings.flatMap(({ name }) => (/_(RPC|GRAPH|HTTP|DATABASE)_URL$/u.test(name) ? [`${unit}: ${name}`] : [])),
  );
  for (const expected of [
    'gateway: SESSION_GRAPH_URL',
    'gateway: IDENTITY_RPC_URL',
    'session: AGENT_RPC_URL',
    'session: VOICE_HTTP_URL',
    'agent: VOICE_HTTP_URL',
    'session: SESSION_DATABASE_URL',
  ]) {
    t.true(addresses.includes(expected), expected);
  }
  t.deepEqual(
    addresses.filter((each) => /^gateway: .*DATABASE|^(?!gateway).*GRAPH|^gateway: EVALUATION_GRAPH/u.test(each)),
    [],
  );
});

test('an engine is a setting of the units that use it', (t) => {
  const namesOf = (uses: (unit: Omit<ListedUnit, 'readConfig' | 'load'>) => boolean | undefined) =>
    units.filter(uses).map(({ name }) => name);
  const unitsWith = (setting: string) =>
    namesOf((unit) => settingsOfUnit(unit).shared.some(({ name }) => name === setting));
  t.deepEqual(
    unitsWith('DATABASE_POOL_SIZE'),
    namesOf(({ schema }) => schema !== undefined),
  );
  t.deepEqual(unitsWith('KAFKA_BROKERS'), namesOf(usesEvents));
  t.deepEqual(
    unitsWith('S3_ENDPOINT'),
    namesOf(({ keepsFiles }) => keepsFiles),
  );
  t.true(
    sharedSettings().some(({ name }) => name === 'S3_ENDPOINT'),
    'one process has an object store for all units',
  );
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
    'AVATAR_TOKEN_KEYS',
    'AVATAR_TOKEN_KEYS',
    'MESH_KEY',
    'SECRETS_KEYS',
    'SECRETS_KEYS',
    'SECRETS_KEYS',
    'SECRETS_KEYS',
  ]);
});
