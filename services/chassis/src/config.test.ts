import test from 'ava';
import { flag, list, port, positiveInt, readAll, readSettings, SettingsError, secretKey } from './config.ts';

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
