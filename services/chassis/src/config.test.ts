import test from 'ava';
import { pino } from 'pino';
import {
  flag,
  list,
  port,
  positiveInt,
  readAll,
  readSettings,
  SettingsError,
  secretKey,
  unknownSettings,
  warnOfUnknownSettings,
} from './config.ts';

test('every problem of the settings is named at once', (t) => {
  const shape = { A_PORT: port, A_COUNT: positiveInt, A_FLAG: flag, A_KEY: secretKey };
  const error = t.throws(
    () => readSettings({ A_PORT: '70000', A_COUNT: 'many', A_FLAG: 'yes', A_KEY: 'c2hvcnQ=' }, shape),
    {
      instanceOf: SettingsError,
    },
  );
  t.is(error?.problems.length, 4);
  for (const name of Object.keys(shape)) t.true(error?.message.includes(`${name}: `), name);
});

test('a missing setting without a default is said to be missing, and an empty one counts as missing', (t) => {
  t.deepEqual(t.throws(() => readSettings({}, { A_COUNT: positiveInt }), { instanceOf: SettingsError })?.problems, [
    'A_COUNT: is missing',
  ]);
  t.deepEqual(readSettings({ A_COUNT: '' }, { A_COUNT: positiveInt.default(3) }), { A_COUNT: 3 });
});

test('values are read by their kind', (t) => {
  const settings = readSettings({ L: ' a, ,b ', F: 'true', P: '0' }, { L: list, F: flag, P: port });
  t.deepEqual(settings, { L: ['a', 'b'], F: true, P: 0 });
});

test('problems of several units are told together, each once', (t) => {
  const read = () => readSettings({}, { SHARED: positiveInt });
  const error = t.throws(() => readAll({ one: read, two: read, three: () => readSettings({}, { OTHER: port }) }), {
    instanceOf: SettingsError,
  });
  t.deepEqual(error?.problems, ['SHARED: is missing', 'OTHER: is missing']);
});

const shape = {
  KITCHEN_TABLES: positiveInt.optional(),
  KITCHEN_STAFF_AT_ONCE: positiveInt.optional(),
  CUISINES: list.optional(),
};

test('a variable with a unit’s prefix that is no setting is named with the nearest setting', (t) => {
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
  readSettings(env, shape);
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

test('the warning names variables and never tells their values; without such variables there is none', (t) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  const env = { KITCHEN_SECRET_KEY: 'hush' };
  readSettings(env, shape);
  warnOfUnknownSettings(env, ['kitchen'], log);
  warnOfUnknownSettings({ KITCHEN_RPC_URL: 'x', SESSION_MANAGER: 'of a desktop' }, ['kitchen', 'session'], log);
  t.is(lines.length, 1);
  t.regex(lines.join(), /"level":40.*KITCHEN_SECRET_KEY/u);
  t.notRegex(lines.join(), /hush/u);
});
