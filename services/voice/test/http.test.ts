import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { readVoiceConfig } from '../src/config.ts';
import { catalog, heads, makeModel } from '../src/make-models.ts';
import { openApi } from '../src/openapi.ts';
import { fakeProvider, json, ring, voiceApp, voiceToken } from './voice-app.ts';

interface Model {
  path: string;
}

async function modelsOf(base: string): Promise<Model[]> {
  const { models } = (await (await fetch(`${base}/avatars/models`)).json()) as { models: Model[] };
  return models;
}

const routes = ['/tts', '/tts/google', '/tts/stream', '/stt', '/avatar-session'];

test('without a valid token every route is 401 before the body is read', async (t) => {
  const { ask } = await voiceApp(t);
  const { token: foreign } = createSessionTokens([{ id: 't1', key: randomBytes(32) }]).mint({
    audience: 'voice',
    tenantId: 1,
  });
  const clock = () => new Date(Date.now() - 3_600_001);
  const { token: expired } = createSessionTokens(ring, { clock }).mint({ audience: 'voice', tenantId: 1 });
  for (const route of routes) {
    for (const token of [null, 'x', `${voiceToken()}x`, foreign, expired]) {
      const { status, body } = await ask(route, 'no JSON', { token });
      const error = { code: 'UNAUTHENTICATED', message: 'Invalid or expired avatar token' };
      t.deepEqual([status, body], [401, { error }]);
    }
  }
});

test('a body that is not a JSON object of valid size is refused in the common error format', async (t) => {
  const { ask, base } = await voiceApp(t);
  const outcome = async (body: string, headers: Record<string, string> = {}) => {
    const answer = await ask('/tts', body, { headers });
    t.deepEqual(Object.keys(answer.body.error), ['code', 'message']);
    t.truthy(answer.headers.get('x-request-id'));
    return `${answer.status} ${answer.body.error.code}`;
  };
  for (const body of ['', '{', '[]', 'null', '"a"']) t.is(await outcome(body), '400 BAD_REQUEST');
  t.is(await outcome('{}', { 'content-type': 'text/plain' }), '415 BAD_REQUEST');
  t.is(await outcome('{}', { 'content-encoding': 'gzip' }), '415 BAD_REQUEST');
  t.is(await outcome(JSON.stringify({ text: 'a'.repeat(200_000) })), '413 BAD_REQUEST');
  const wrong = await fetch(`${base}/tts`);
  t.is(wrong.status, 405);
  t.is(wrong.headers.get('allow'), 'POST, OPTIONS');
  const nothing = await fetch(`${base}/constructor`);
  t.deepEqual([nothing.status, ((await nothing.json()) as { error: { code: string } }).error.code], [404, 'NOT_FOUND']);
});

test('a body without a length is refused at the limit', async (t) => {
  const { base } = await voiceApp(t);
  const { port } = new URL(base);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => undefined);
  const head = `POST /tts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${voiceToken()}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
  socket.write(`${head}40000\r\n${'a'.repeat(0x40000)}\r\n`);
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  t.regex(answer, /^HTTP\/1\.1 413 [\s\S]*The body is larger than 131072 bytes/u);
});

test("a body beyond the tenant's share of memory is 429, and the memory is released", async (t) => {
  const stt = await fakeProvider(t, json({}));
  const { ask } = await voiceApp(t, {
    VOICE_MAX_BODIES_BYTES: '400000',
    STT_PROVIDER: 'google',
    STT_URL: stt.url,
  });
  const clip = (size: number) => ({ audioBase64: 'a'.repeat(size), audioEncoding: 'MP3', languageCode: 'en' });
  t.is((await ask('/stt', clip(120_000))).status, 429);
  for (let i = 0; i < 3; i += 1) t.is((await ask('/stt', clip(80_000))).status, 200);
});

test('health, catalogue and OpenAPI need no token', async (t) => {
  const { base } = await voiceApp(t);
  t.is((await fetch(`${base}/health`)).status, 200);
  t.is((await fetch(`${base}/health?probe=1`, { method: 'HEAD' })).status, 200);
  t.deepEqual(await (await fetch(`${base}/openapi.json`)).json(), JSON.parse(JSON.stringify(openApi)));
  const models = await modelsOf(base);
  t.deepEqual(models, [
    { id: 'aria', label: 'Aria', gender: 'FEMALE', path: 'avatars/models/aria.glb' },
    { id: 'noor', label: 'Noor', gender: 'FEMALE', path: 'avatars/models/noor.glb' },
    { id: 'leo', label: 'Leo', gender: 'MALE', path: 'avatars/models/leo.glb' },
  ]);
  t.is(openApi.openapi, '3.1.0');
  for (const route of [...routes, '/avatars/models', '/health']) t.true(route in openApi.paths, route);
});

test('the file of each model is served whole, in part, or as 304 if the browser has it', async (t) => {
  const { base } = await voiceApp(t);
  const models = await modelsOf(base);
  for (const { path } of models) {
    const whole = await fetch(`${base}/${path}`);
    t.is(whole.headers.get('content-type'), 'model/gltf-binary');
    t.is(whole.headers.get('cache-control'), 'public, max-age=86400');
    const file = Buffer.from(await whole.arrayBuffer());
    t.is(file.toString('latin1', 0, 4), 'glTF');
    t.is(file.readUInt32LE(8), file.length);
    const etag = whole.headers.get('etag') ?? '';
    t.is((await fetch(`${base}/${path}`, { headers: { 'if-none-match': etag } })).status, 304);
    const part = async (range: string, more = {}) => {
      const answer = await fetch(`${base}/${path}`, { headers: { range, ...more } });
      const bytes = Buffer.from(await answer.arrayBuffer());
      return { status: answer.status, bytes, range: answer.headers.get('content-range') };
    };
    const size = file.length;
    t.deepEqual(await part('bytes=4-7'), { status: 206, bytes: file.subarray(4, 8), range: `bytes 4-7/${size}` });
    t.deepEqual((await part('bytes=-10')).bytes, file.subarray(-10));
    t.deepEqual((await part(`bytes=${size - 5}-`)).bytes, file.subarray(-5));
    t.like(await part(`bytes=${size}-`), { status: 416, range: `bytes */${size}` });
    t.like(await part('bytes=0-1,4-5'), { status: 200 });
    t.like(await part('bytes=4-7', { 'if-range': '"old"' }), { status: 200 });
  }
  t.is((await fetch(`${base}/avatars/models/nobody.glb`)).status, 404);
  t.is((await fetch(`${base}/avatars/models/..%2f..%2fpackage.json`)).status, 404);
});

test('the page for trying the service is complete and sends no requests elsewhere', async (t) => {
  const { base } = await voiceApp(t);
  const page = await fetch(`${base}/`);
  t.is(page.status, 200);
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
  t.regex(
    page.headers.get('content-security-policy') ?? '',
    /default-src 'none'; script-src 'self'; style-src 'self'/u,
  );
  const html = await page.text();
  const names = [...html.matchAll(/(?:src|href)="([^"]+)"/gu)].map(([, name = '']) => name);
  t.deepEqual(names.toSorted(), ['data:,', 'openapi.json', 'try.css', 'try.js']);
  t.notRegex(html, /<script(?![^>]*src)|<style| style=| on[a-z]+=/u, 'the policy allows nothing inline');
  const texts = [html];
  for (const name of ['try.js', 'try.css', 'openapi.json']) {
    const file = await fetch(`${base}/${name}`);
    t.is(file.status, 200, name);
    texts.push(await file.text());
  }
  for (const text of texts) t.notRegex(text, /https?:\/\/|url\(|@import/u);
  const script = texts[1] ?? '';
  for (const [, id = ''] of script.matchAll(/\bat\('([\w-]+)'\)/gu)) t.true(html.includes(`id="${id}"`), id);
  const [, ...paths] = new Set([...script.matchAll(/post\('([\w/]+)'/gu)].map(([, path = '']) => path));
  for (const path of paths) t.true(`/${path}` in openApi.paths, path);
  const head = await fetch(`${base}/`, { method: 'HEAD' });
  t.deepEqual([head.status, await head.text()], [200, '']);
  t.is((await fetch(`${base}/`, { method: 'POST' })).status, 405);
});

test('the built-in models are identical to the output of their script', (t) => {
  const file = (name: string) => readFileSync(fileURLToPath(new URL(`../models/${name}`, import.meta.url)));
  for (const head of heads) t.true(makeModel(head).equals(file(`${head.id}.glb`)), head.id);
  t.deepEqual(JSON.parse(file('models.json').toString()), JSON.parse(catalog));
});

test('the models of a folder replace the built-in ones; an invalid file stops the start with its name', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-models-'));
  writeFileSync(join(folder, 'models.json'), JSON.stringify([{ id: 'zoe', label: 'Zoe', gender: 'FEMALE' }]));
  writeFileSync(join(folder, 'zoe.glb'), 'no glTF');
  await t.throwsAsync(voiceApp(t, { VOICE_MODELS_FOLDER: folder }), {
    message: /VOICE_MODELS_FOLDER.*it is no \.glb/u,
  });
  writeFileSync(join(folder, 'zoe.glb'), 'glTF and so on');
  const { base } = await voiceApp(t, { VOICE_MODELS_FOLDER: folder });
  const models = await modelsOf(base);
  t.deepEqual(models, [{ id: 'zoe', label: 'Zoe', gender: 'FEMALE', path: 'avatars/models/zoe.glb' }]);
  t.is(await (await fetch(`${base}/${models[0]?.path}`)).text(), 'glTF and so on');
});

test('only browsers with a configured origin may call', async (t) => {
  const { base } = await voiceApp(t, { CORS_ORIGINS: 'https://a.example,https://b.example' });
  const preflight = async (origin: string) =>
    fetch(`${base}/tts`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    });
  const allowed = await preflight('https://b.example');
  t.is(allowed.status, 204);
  t.is(allowed.headers.get('access-control-allow-origin'), 'https://b.example');
  t.regex(allowed.headers.get('access-control-allow-headers') ?? '', /authorization, content-type/u);
  t.is((await preflight('https://c.example')).headers.get('access-control-allow-origin'), null);
  const any = await voiceApp(t);
  const answer = await fetch(`${any.base}/avatars/models`, { headers: { origin: 'https://c.example' } });
  t.is(answer.headers.get('access-control-allow-origin'), '*');
});

test('a provider without a URL stops the start', (t) => {
  const env = { AVATAR_TOKEN_KEYS: `t1:${randomBytes(32).toString('base64')}` };
  const read = (more: object) => () => readVoiceConfig({ ...env, ...more });
  t.throws(read({ TTS_PROVIDER: 'openai', STT_PROVIDER: 'openai' }), {
    message: /TTS_URL: is required with TTS_PROVIDER=openai[\s\S]*STT_URL/u,
  });
  t.throws(read({ STT_PROVIDER: 'whisper' }), { message: /VOICE_WHISPER_FOLDER: is required/u });
  t.throws(read({ AVATAR_VENDOR_URL: 'http://a.example' }), { message: /AVATAR_VENDOR_KEY/u });
  t.notThrows(read({}));
});

test('a running request is answered before the unit stops', async (t) => {
  const gate = createGate();
  const stt = await fakeProvider(t, async (received, response) => {
    await gate.pass();
    json({})(received, response);
  });
  const { ask, unit, base } = await voiceApp(t, { STT_PROVIDER: 'google', STT_URL: stt.url });
  const asked = ask('/stt', { audioBase64: 'aaaa', audioEncoding: 'MP3', languageCode: 'en' });
  await eventually('the provider is asked', () => stt.received.length === 1);
  const stopped = unit.stop();
  await t.throwsAsync(fetch(`${base}/health`));
  gate.open();
  t.is((await asked).status, 200);
  await stopped;
});
