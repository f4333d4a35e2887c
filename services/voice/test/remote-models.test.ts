import { randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { readVoiceConfig } from '../src/config.ts';
import { fakeProvider, json, type Received, voiceApp } from './voice-app.ts';

type Answer = (received: Received, response: ServerResponse) => unknown;

const zoe = { id: 'zoe', label: 'Zoe', gender: 'FEMALE' };
const max = { id: 'max', label: 'Max', gender: 'MALE' };
const withPath = (model: { id: string }) => ({ ...model, path: `avatars/models/${model.id}.glb` });
const glb = (length: number) => Buffer.concat([Buffer.from('glTF'), randomBytes(length - 4)]);
const send =
  (content: Buffer | string, headers: Record<string, string> = {}, status = 200): Answer =>
  (_, response) =>
    response.writeHead(status, headers).end(content);

/** Starts a web server with models. A test can change its responses. */
async function modelSource(t: ExecutionContext, answers: Record<string, Answer>) {
  const server = await fakeProvider(t, async (received, response) => {
    const answer = answers[received.url] ?? send('', {}, 404);
    await answer(received, response);
  });
  return { ...server, answers, askedFor: (url: string) => server.received.filter((each) => each.url === url).length };
}

/** Starts voice with a source of models. Voice requests the models from the source again each time. */
async function remoteVoice(t: ExecutionContext, url: string, env: Record<string, string> = {}) {
  const app = await voiceApp(t, { VOICE_MODELS_URL: url, VOICE_MODELS_KEPT_MS: '1', ...env });
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${app.base}/${path}`, { headers });
    return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
  };
  const list = async () => {
    const { status, body } = await get('avatars/models');
    return status === 200 ? (JSON.parse(body.toString()).models as unknown[]) : status;
  };
  return { ...app, get, list };
}

test('models at a URL are listed and served like those of a folder, each fetched once for all clients', async (t) => {
  const file = glb(100_000);
  const gate = createGate();
  const source = await modelSource(t, {
    '/faces/models.json': json([zoe, max]),
    '/faces/zoe.glb': async (received, response) => {
      await gate.pass();
      send(file)(received, response);
    },
  });
  const { list, get, base } = await remoteVoice(t, `${source.url}/faces`, { VOICE_MODELS_KEPT_MS: '600000' });
  t.deepEqual(await list(), [zoe, max].map(withPath));
  t.is(source.askedFor('/faces/zoe.glb'), 0, 'before anyone asks');
  const path = 'avatars/models/zoe.glb';
  const clients = Array.from({ length: 5 }, () => get(path, { origin: 'https://a.example' }));
  await eventually('it is asked for', () => source.askedFor('/faces/zoe.glb') === 1);
  gate.open();
  for (const { status, body, headers } of await Promise.all(clients)) {
    t.is(status, 200);
    t.true(body.equals(file));
    t.is(headers.get('content-type'), 'model/gltf-binary');
    t.is(headers.get('cache-control'), 'public, max-age=86400');
    t.is(headers.get('access-control-allow-origin'), '*');
  }
  const part = await get(path, { range: 'bytes=10-19' });
  t.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 10-19/100000']);
  t.true(part.body.equals(file.subarray(10, 20)));
  t.is((await get(path, { range: 'bytes=100000-' })).status, 416);
  t.is((await get(path, { 'if-none-match': part.headers.get('etag') ?? '' })).status, 304);
  const head = await fetch(`${base}/${path}`, { method: 'HEAD' });
  t.deepEqual([head.status, head.headers.get('content-length')], [200, '100000']);
  t.is((await get('avatars/models/bob.glb')).status, 404, 'no model of the list');
  t.deepEqual(
    source.received.map(({ url }) => url),
    ['/faces/models.json', '/faces/zoe.glb'],
  );
});

test('the URL may be that of the catalogue; files are in the same folder', async (t) => {
  const file = glb(50);
  const source = await modelSource(t, { '/a/faces.json': json([zoe]), '/a/zoe.glb': send(file) });
  const { list, get } = await remoteVoice(t, `${source.url}/a/faces.json`);
  t.deepEqual(await list(), [withPath(zoe)]);
  t.true((await get('avatars/models/zoe.glb')).body.equals(file));
});

test('while the source is unavailable its last list and files are served; files that were never fetched are unavailable', async (t) => {
  const file = glb(50);
  const answers: Record<string, Answer> = { '/models.json': json([zoe, max]), '/zoe.glb': send(file) };
  const source = await modelSource(t, answers);
  const { list, get } = await remoteVoice(t, source.url);
  t.deepEqual(await list(), [zoe, max].map(withPath));
  t.is((await get('avatars/models/zoe.glb')).status, 200);
  const away: Answer = (_, response) => response.destroy();
  Object.assign(answers, { '/models.json': away, '/zoe.glb': away, '/max.glb': away });
  const asked = source.askedFor('/models.json');
  await eventually('it has failed', async () => {
    t.deepEqual(await list(), [zoe, max].map(withPath));
    return source.askedFor('/models.json') > asked + 2;
  });
  t.true((await get('avatars/models/zoe.glb')).body.equals(file));
  const never = await get('avatars/models/max.glb');
  t.is(never.status, 503);
  t.is(never.headers.get('retry-after'), '5');
  t.is(JSON.parse(never.body.toString()).error.code, 'UNAVAILABLE');
  Object.assign(answers, { '/models.json': json([max]), '/max.glb': send(file) });
  await eventually(
    'its new list is read',
    async () => JSON.stringify(await list()) === JSON.stringify([withPath(max)]),
  );
  await eventually('its file is served', async () => (await get('avatars/models/max.glb')).status === 200);
  t.is((await get('avatars/models/zoe.glb')).status, 404, 'it is in the list no more');
});

test('voice starts while the source is unavailable, and has no list until the source is back', async (t) => {
  const answers: Record<string, Answer> = { '/models.json': send('', {}, 502) };
  const source = await modelSource(t, answers);
  const { list, get, base } = await remoteVoice(t, source.url);
  t.is((await fetch(`${base}/health`)).status, 200);
  t.is(await list(), 503);
  t.is((await get('avatars/models/zoe.glb')).status, 503);
  answers['/models.json'] = json([zoe]);
  await eventually('the list is there', async () => (await list()) !== 503);
  t.deepEqual(await list(), [withPath(zoe)]);
});

test('a failed source is not retried during a pause', async (t) => {
  const source = await modelSource(t, { '/models.json': json([zoe]), '/zoe.glb': send('', {}, 500) });
  const { get } = await remoteVoice(t, source.url, { VOICE_MODELS_KEPT_MS: '600000' });
  for (let i = 0; i < 5; i += 1) t.is((await get('avatars/models/zoe.glb')).status, 503);
  t.is(source.askedFor('/zoe.glb'), 1);
});

const hostileLists: Record<string, Answer> = {
  'no JSON': send('<html>'),
  nothing: send(''),
  'no list': json({ models: [zoe] }),
  'a name that leaves the folder': json([{ ...zoe, id: '../secret' }]),
  'a name of another host': json([{ ...zoe, id: '//evil.example/x' }]),
  'an id of an object': json([{ ...zoe, id: '__proto__x'.toUpperCase() }]),
  'a label that is too long': json([{ ...zoe, label: 'x'.repeat(201) }]),
  'a label with a zero': json([{ ...zoe, label: 'a\0' }]),
  'the same id twice': json([zoe, zoe]),
  'too many': json(Array.from({ length: 1_001 }, (_, i) => ({ ...zoe, id: `m${i}` }))),
  'too large': send(`[${' '.repeat(1_100_000)}]`),
  'too large once unpacked': send(gzipSync(`[${' '.repeat(50_000_000)}]`), { 'content-encoding': 'gzip' }),
  'a redirect': send('', { location: '/other.json' }, 302),
  'an answer that has not changed, which nobody asked for': send('', {}, 304),
};

test('an invalid or hostile list does not replace the current one', async (t) => {
  const answers: Record<string, Answer> = { '/models.json': json([max]), '/other.json': json([zoe]) };
  const source = await modelSource(t, answers);
  const { list, metrics } = await remoteVoice(t, source.url);
  const failures = async () =>
    Number(/parley_voice_models_seconds_count\{[^}]*outcome="error"[^}]*\} (\d+)/u.exec(await metrics())?.[1] ?? 0);
  t.deepEqual(await list(), [withPath(max)]);
  for (const [title, answer] of Object.entries(hostileLists)) {
    const before = await failures();
    answers['/models.json'] = answer;
    await eventually(`it has failed: ${title}`, async () => {
      t.deepEqual(await list(), [withPath(max)], title);
      return (await failures()) > before + 1;
    });
  }
  t.is(source.askedFor('/other.json'), 0);
});

const hostileFiles: Record<string, Answer> = {
  'no .glb': send('<html>'),
  nothing: send(''),
  'a part of the first bytes': send('glT'),
  'larger than all room': send(glb(20_000)),
  'larger than that once unpacked': send(gzipSync(Buffer.concat([Buffer.from('glTF'), Buffer.alloc(5_000_000)])), {
    'content-encoding': 'gzip',
  }),
  'a redirect': send('', { location: '/max.glb' }, 302),
  'cut off': (_, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write(glb(100), () => response.destroy());
  },
};

test('an invalid or hostile file is unavailable, and nothing of it is cached', async (t) => {
  const answers: Record<string, Answer> = { '/models.json': json([zoe]), '/max.glb': send(glb(50)) };
  const source = await modelSource(t, answers);
  const { get } = await remoteVoice(t, source.url, { VOICE_MODELS_CACHE_BYTES: '10000' });
  for (const [title, answer] of Object.entries(hostileFiles)) {
    answers['/zoe.glb'] = answer;
    const { status, body } = await get('avatars/models/zoe.glb');
    t.is(status, 503, title);
    t.notRegex(body.toString(), /glTF|127\.0/u);
  }
  answers['/zoe.glb'] = send(glb(10_000));
  await eventually('all room is free', async () => (await get('avatars/models/zoe.glb')).body.length === 10_000);
  answers['/zoe.glb'] = send('<html>');
  const asked = source.askedFor('/zoe.glb');
  await eventually('it is refused', async () => {
    t.is((await get('avatars/models/zoe.glb')).body.length, 10_000, 'the last one stays');
    return source.askedFor('/zoe.glb') > asked + 1;
  });
});

test('a request to a source that does not end its answer times out', async (t) => {
  const answers: Record<string, Answer> = { '/models.json': json([zoe]), '/zoe.glb': () => undefined };
  const source = await modelSource(t, answers);
  const { list, get } = await remoteVoice(t, source.url, { VOICE_PROVIDER_TIMEOUT_MS: '3000' });
  await eventually('the list is there', async () => (await list()) !== 503);
  t.is((await get('avatars/models/zoe.glb')).status, 503);
  await eventually('its call is cancelled', () => source.cancelled.includes('/zoe.glb'));
  answers['/zoe.glb'] = (_, response) => void response.writeHead(200).write(glb(100));
  t.is((await get('avatars/models/zoe.glb')).status, 503);
});

test('a changed file is served with a new etag; the source does not send an unchanged file again', async (t) => {
  const [first, second] = [glb(60), glb(70)];
  let unchanged = 0;
  const versioned =
    (content: Buffer, etag: string): Answer =>
    (received, response) => {
      const isKnown = received.headers['if-none-match'] === etag;
      unchanged += isKnown ? 1 : 0;
      send(isKnown ? '' : content, { etag }, isKnown ? 304 : 200)(received, response);
    };
  const answers = { '/models.json': json([zoe]), '/zoe.glb': versioned(first, '"1"') };
  const source = await modelSource(t, answers);
  const { get } = await remoteVoice(t, source.url);
  const { headers } = await get('avatars/models/zoe.glb');
  await eventually('it has not changed', async () => {
    t.true((await get('avatars/models/zoe.glb')).body.equals(first));
    return unchanged > 1;
  });
  answers['/zoe.glb'] = versioned(second, '"2"');
  await eventually('it has changed', async () => (await get('avatars/models/zoe.glb')).body.equals(second));
  t.not((await get('avatars/models/zoe.glb')).headers.get('etag'), headers.get('etag'));
});

/** Lists the cache folders of this process. */
const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`parley-models-${process.pid}-`));

test.serial('the cache of files is bounded and deleted when voice stops', async (t) => {
  const models = Array.from({ length: 6 }, (_, i) => ({ ...zoe, id: `m${i}` }));
  const files = models.map((_, i) => glb(1_000 + i));
  const others = new Set(folders());
  const source = await modelSource(t, {
    '/models.json': json(models),
    ...Object.fromEntries(files.map((file, i) => [`/m${i}.glb`, send(file)])),
  });
  const limits = { VOICE_MODELS_CACHE_BYTES: '2500', VOICE_MODELS_KEPT_MS: '600000' };
  const { get, unit } = await remoteVoice(t, source.url, limits);
  for (const i of [0, 1, 0, 2, 0, 3, 4, 5, 5]) {
    t.true((await get(`avatars/models/m${i}.glb`)).body.equals(files[i] ?? Buffer.alloc(0)), `m${i}`);
    const sizes = folders()
      .filter((name) => !others.has(name))
      .flatMap((name) => readdirSync(join(tmpdir(), name)).map((each) => statSync(join(tmpdir(), name, each)).size));
    t.true(sizes.length > 0 && sizes.reduce((sum, each) => sum + each, 0) <= 2_500, String(sizes));
  }
  t.is(source.askedFor('/m0.glb'), 1, 'the one that is used most stays');
  await unit.stop();
  t.deepEqual(
    folders().filter((name) => !others.has(name)),
    [],
  );
});

test('contradictory settings of models stop the start', (t) => {
  const env = { AVATAR_TOKEN_KEYS: `t1:${randomBytes(32).toString('base64')}` };
  const read = (more: object) => () => readVoiceConfig({ ...env, ...more });
  const url = 'https://models.example/faces';
  t.throws(read({ VOICE_MODELS_URL: url, VOICE_MODELS_FOLDER: '/a' }), { message: /VOICE_MODELS_URL: is set beside/u });
  t.throws(read({ VOICE_MODELS_URL: 'file:///etc' }), { message: /VOICE_MODELS_URL: is not an http/u });
  t.throws(read({ VOICE_MODELS_URL: `${url}?a=1` }), { message: /VOICE_MODELS_URL: has a query/u });
  t.throws(read({ VOICE_MODELS_URL: 'https://a:b@models.example' }), { message: /has a user or password/u });
  t.notThrows(read({ VOICE_MODELS_URL: url }));
});
