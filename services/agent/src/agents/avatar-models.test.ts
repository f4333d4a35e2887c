import { unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { avatarModels } from './avatar-models.ts';

const log = createLogger('agent', { LOG_LEVEL: 'silent' });
const aria = { id: 'aria', label: 'Aria', gender: 'FEMALE', path: 'avatars/models/aria.glb' };
const shown = (id: string) => ({ id, filename: `${id}.glb`, label: 'Aria', gender: 'FEMALE' });

/** Returns an avatar model list whose voice service responds with `body`. While `body` is undefined, the service is unavailable. */
function setUp({ keyValue = memoryKeyValue() } = {}) {
  const voice = { body: { models: [aria] } as unknown, status: 200, calls: 0, gate: Promise.resolve() };
  let time = 0;
  const models = avatarModels({
    async voice(path) {
      voice.calls += 1;
      await voice.gate;
      if (voice.body === undefined) throw unavailable('away');
      const text = typeof voice.body === 'string' ? voice.body : JSON.stringify(voice.body);
      return { status: path === '/avatars/models' ? voice.status : 404, body: Buffer.from(text) };
    },
    keyValue,
    keptMs: 1_000,
    log,
    now: () => time,
  });
  return { voice, models, keyValue, pass: (ms: number) => (time += ms) };
}

test('the avatar models come from voice and are requested again after a while', async (t) => {
  const { voice, models, pass } = setUp();
  t.deepEqual(await models.list(), [shown('aria')]);
  voice.body = { models: [{ ...aria, id: 'new', path: 'new.glb' }], more: true };
  t.deepEqual(await models.list(), [shown('aria')]);
  t.is(voice.calls, 1);
  pass(1_000);
  t.deepEqual(await models.list(), [shown('new')]);
});

test('concurrent requests for avatar models share one request to voice', async (t) => {
  const { voice, models } = setUp();
  const gate = createGate();
  voice.gate = gate.pass();
  const lists = [1, 2, 3].map(() => models.list());
  gate.open();
  t.deepEqual(await Promise.all(lists), [[shown('aria')], [shown('aria')], [shown('aria')]]);
  t.is(voice.calls, 1);
});

test('while voice is down, its last avatar models are returned at once, also after a restart, or none if none were known', async (t) => {
  const first = setUp();
  const { keyValue } = first;
  await first.models.list();

  const restarted = setUp({ keyValue });
  restarted.voice.body = undefined;
  t.deepEqual(await restarted.models.list(), [shown('aria')]);
  restarted.pass(1_000);
  const gate = createGate();
  restarted.voice.gate = gate.pass();
  t.deepEqual(await restarted.models.list(), [shown('aria')], 'nobody waits for it');
  t.is(restarted.voice.calls, 2, 'it is asked again all the same');
  restarted.voice.body = { models: [] };
  gate.open();
  await eventually('it is back', async () => (await restarted.models.list()).length === 0);

  const fresh = setUp();
  fresh.voice.body = undefined;
  t.deepEqual(await fresh.models.list(), []);
  await fresh.models.list();
  t.is(fresh.voice.calls, 1, 'it is left alone for a while');
});

test('avatar models are returned even if the shared store fails', async (t) => {
  const keyValue = {
    ...memoryKeyValue(),
    get: () => Promise.reject(unavailable('no Redis')),
    set: () => Promise.reject(unavailable('no Redis')),
  };
  const { models } = setUp({ keyValue });
  t.deepEqual(await models.list(), [shown('aria')]);
  const away = setUp({ keyValue });
  away.voice.body = undefined;
  t.deepEqual(await away.models.list(), []);
});

const hostile: Record<string, unknown> = {
  'no JSON': '<html>',
  'no list': { models: 'aria' },
  'an absolute path': { models: [{ ...aria, path: '//evil.example/aria.glb' }] },
  'a path with a scheme': { models: [{ ...aria, path: 'javascript:alert(1)//x.glb' }] },
  'another kind of file': { models: [{ ...aria, path: 'aria.exe' }] },
  'a long name': { models: [{ ...aria, label: 'x'.repeat(201) }] },
  'a lone surrogate': { models: [{ ...aria, label: '\ud800' }] },
  'a NUL': { models: [{ ...aria, label: 'a\0' }] },
  'no label': { models: [{ ...aria, label: null }] },
  'too many': { models: Array.from({ length: 1_001 }, () => aria) },
  'a prototype': '{"models": [{"__proto__": {"id": "a", "label": "a", "gender": "a", "path": "a.glb"}}]}',
};
for (const [what, body] of Object.entries(hostile))
  test(`an unusable list of avatar models does not replace the last known one: ${what}`, async (t) => {
    const { voice, models, pass, keyValue } = setUp();
    await models.list();
    voice.body = body;
    pass(1_000);
    await models.list();
    pass(1_000);
    t.deepEqual(await models.list(), [shown('aria')]);
    t.is(voice.calls, 3);
    t.deepEqual(await setUp({ keyValue }).models.list(), [shown('aria')]);
  });

test('avatar models with an error as status are not used', async (t) => {
  const { voice, models } = setUp();
  voice.status = 500;
  t.deepEqual(await models.list(), []);
});
