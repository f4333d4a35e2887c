import test from 'ava';
import { pino } from 'pino';
import {
  misspeltSettings,
  readAll,
  readSettings,
  SettingsError,
  unknownSettings,
  warnOfUnknownSettings,
} from './config.ts';
import { byteCount, flag, list, port, positiveInt, secretKey, text } from './setting-types.ts';
import { optionalGroup, setting } from './settings.ts';

test('every problem of the settings is named at once', (t) => {
  const declared = {
    port: setting('A_PORT', port, ''),
    limits: { count: setting('A_COUNT', positiveInt, '') },
    isOpen: setting('A_FLAG', flag, ''),
    key: setting('A_KEY', secretKey, ''),
  };
  const error = t.throws(
    () => readSettings({ A_PORT: '70000', A_COUNT: 'many', A_FLAG: 'yes', A_KEY: 'c2hvcnQ=' }, declared),
    {
      instanceOf: SettingsError,
    },
  );
  t.is(error?.problems.length, 4);
  for (const name of ['A_PORT', 'A_COUNT', 'A_FLAG', 'A_KEY']) t.true(error?.message.includes(`${name}: `), name);
});

test('a missing setting without a default is an error, and an empty one counts as missing', (t) => {
  const needed = { count: setting('A_COUNT', positiveInt, '') };
  const error = t.throws(() => readSettings({}, needed), { instanceOf: SettingsError });
  t.deepEqual(error?.problems, ['A_COUNT: is missing']);
  t.deepEqual(readSettings({ A_COUNT: '' }, { count: setting('A_COUNT', positiveInt.default(3), '') }), { count: 3 });
});

test('a number that is only space is an error, rather than 0', (t) => {
  const declared = { port: setting('A_PORT', port.default(4000), ''), all: setting('L', list, '') };
  const error = t.throws(() => readSettings({ A_PORT: ' ', L: ' ' }, declared), { instanceOf: SettingsError });
  t.deepEqual(error?.problems, ['A_PORT: is not a number']);
});

test('values are converted to their types', (t) => {
  const declared = {
    all: setting('L', list, ''),
    some: { flag: setting('F', flag, ''), port: setting('P', port, '') },
  };
  const settings = readSettings({ L: ' a, ,b ', F: 'true', P: '0' }, declared);
  t.deepEqual(settings, { all: ['a', 'b'], some: { flag: true, port: 0 } });
});

test('a count or duration has at most what a timer and the database take; an amount of memory may be larger', (t) => {
  const declared = { ms: setting('A_MS', positiveInt, ''), bytes: setting('A_BYTES', byteCount, '') };
  const read = (ms: string) => readSettings({ A_MS: ms, A_BYTES: '4294967296' }, declared);

  t.deepEqual(read('2147483647'), { ms: 2_147_483_647, bytes: 4_294_967_296 });
  const error = t.throws(() => read('2147483648'), { instanceOf: SettingsError });
  t.deepEqual(error?.problems, ['A_MS: must be at most 2147483647']);
});

test('in production a setting may have another default, or be required', (t) => {
  const declared = {
    origins: setting('ORIGINS', list.default(['*']), '', { productionDefault: [] }),
    broker: setting('BROKER', text.optional(), '', { requiredInProduction: true }),
  };
  t.deepEqual(readSettings({}, declared), { origins: ['*'], broker: undefined });
  t.deepEqual(readSettings({ NODE_ENV: 'production', BROKER: 'b' }, declared), { origins: [], broker: 'b' });
  t.deepEqual(readSettings({ NODE_ENV: 'production', BROKER: 'b', ORIGINS: 'a' }, declared).origins, ['a']);
  const error = t.throws(() => readSettings({ NODE_ENV: 'production' }, declared), { instanceOf: SettingsError });
  t.deepEqual(error?.problems, ['BROKER: is missing, and NODE_ENV is production']);
});

test('an optional group has values only where its setting is given, and is always validated', (t) => {
  const store = optionalGroup('STORE', {
    url: setting('STORE', text, ''),
    port: setting('STORE_PORT', port.default(1), ''),
    key: setting('STORE_KEY', text, ''),
  });
  const read = (env: Record<string, string>) => readSettings(env, { store }).store;
  const problems = (env: Record<string, string>) => t.throws(() => read(env), { instanceOf: SettingsError })?.problems;

  t.is(read({}), undefined);
  t.is(read({ STORE: '', STORE_KEY: 'k' }), undefined);
  t.deepEqual(read({ STORE: 's', STORE_KEY: 'k' }), { url: 's', port: 1, key: 'k' });
  t.deepEqual(problems({ STORE: 's' }), ['STORE_KEY: is missing, and STORE is set']);
  t.is(problems({ STORE_PORT: '70000' })?.length, 1);
});

test('problems of several units are reported together, each once', (t) => {
  const read = () => readSettings({}, { shared: setting('SHARED', positiveInt, '') });
  const error = t.throws(
    () => readAll({ one: read, two: read, three: () => readSettings({}, { other: setting('OTHER', port, '') }) }),
    {
      instanceOf: SettingsError,
    },
  );
  t.deepEqual(error?.problems, ['SHARED: is missing', 'OTHER: is missing']);
});

const kitchen = {
  tables: setting('KITCHEN_TABLES', positiveInt.optional(), ''),
  staffAtOnce: setting('KITCHEN_STAFF_AT_ONCE', positiveInt.optional(), ''),
  cuisines: setting('CUISINES', list.optional(), ''),
};

test('a variable with a unit’s prefix that is not a setting is reported with the nearest setting', (t) => {
  const env = {
    KITCHEN_TABELS: '3',
    KITCHEN_STAFF: '3',
    KITCHEN_STAFF_ATONCE: '3',
    KITCHEN_CUISINES: 'thai',
    KITCHEN_SERVICE_HOST: '10.0.0.1',
    KITCHEN_TABLES: '3',
    KITCHEN_RPC_URL: 'localhost:1',
    KITCHEN_DATABASE_URL: 'postgres://localhost',
    KITCHEN_EMPTY: '',
    KITCHENS_TABLES: '3',
    CELLAR_TABELS: '3',
    HOME: '/',
  };
  readSettings(env, kitchen);
  const unknown = unknownSettings(env, ['kitchen']);
  t.like(unknown, {
    KITCHEN_TABELS: 'KITCHEN_TABLES',
    KITCHEN_STAFF_ATONCE: 'KITCHEN_STAFF_AT_ONCE',
    KITCHEN_CUISINES: 'CUISINES',
    KITCHEN_STAFF: 'KITCHEN_STAFF_AT_ONCE',
  });
  t.deepEqual(Object.keys(unknown ?? {}), [
    'KITCHEN_CUISINES',
    'KITCHEN_SERVICE_HOST',
    'KITCHEN_STAFF',
    'KITCHEN_STAFF_ATONCE',
    'KITCHEN_TABELS',
  ]);
});

test('a variable that differs from a setting by a letter or two is reported with that setting', (t) => {
  const settings = ['DATABASE_URL', 'KAFKA_BROKERS', 'REGIONS'];
  const env = {
    DATABASE_URL: 'a',
    DATABSE_URL: 'b',
    KAFKA_BROKER: 'c',
    KAFKA_HOME: 'd',
    REGION: 'e',
    DATABASE_URI: '',
  };

  t.deepEqual(misspeltSettings(env, settings), { DATABSE_URL: 'DATABASE_URL', KAFKA_BROKER: 'KAFKA_BROKERS' });
});

test('the warning has the names of unknown settings without their values, and is not logged where there are none', (t) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  const env = { KITCHEN_SECRET_KEY: 'hush' };
  readSettings(env, kitchen);
  warnOfUnknownSettings(env, ['kitchen'], log);
  warnOfUnknownSettings({ KITCHEN_RPC_URL: 'x', SESSION_MANAGER: 'of a desktop' }, ['kitchen', 'session'], log);
  t.is(lines.length, 1);
  t.regex(lines.join(), /"level":40.*KITCHEN_SECRET_KEY/u);
  t.notRegex(lines.join(), /hush/u);
});
