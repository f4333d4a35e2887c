import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import { units } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { diagnose } from './diagnose.ts';
import { everySetting, password } from './testing/every-setting.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts a provider that records its requests. */
async function provider(t: ExecutionContext, answer: Answer) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  const at = await listen(server, 0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { at, url: `http://${at}`, asked };
}

/** Returns the findings about voice with these settings. Asserts that no text contains the key. */
async function found(t: ExecutionContext, env: Record<string, string>): Promise<string[]> {
  const voice = units.filter(({ name }) => name === 'voice');
  const given = { ...everySetting('127.0.0.1:1'), ...env };
  const outcomes = await diagnose({ env: given, units: voice, allUnits: units, now: Date.now, patienceMs: 60_000 });
  t.notRegex(JSON.stringify(outcomes), new RegExp(password, 'u'));
  const ofVoice = outcomes.filter(({ check }) => /^(?:voice|addresses)\./u.test(check));
  return ofVoice.map(({ level, check, found: text }) => `${level} ${check}: ${text}`);
}

const status =
  (code: number, content: unknown = {}): Answer =>
  (_, response) =>
    void response.writeHead(code).end(JSON.stringify(content));
/** Accepts only requests with the key. */
const withKey =
  (header: string, value: string, content: unknown = {}, refusal = 401): Answer =>
  (request, response) =>
    status(request.headers[header] === value ? 200 : refusal, content)(request, response);

test('eSpeak NG, and no transcription, have nothing that could be asked', async (t) => {
  t.deepEqual(await found(t, {}), []);
});

test('Google-style speech is asked for its voices, by which a key is tried', async (t) => {
  const { at, url, asked } = await provider(t, withKey('x-goog-api-key', password, {}, 400));
  const env = { TTS_PROVIDER: 'google', TTS_URL: url };
  t.deepEqual(await found(t, { ...env, TTS_KEY: password }), [`ok voice.key: ${at} accepts TTS_KEY`]);
  t.deepEqual(await found(t, { ...env, TTS_KEY: 'other' }), [`wrong voice.key: ${at} refuses TTS_KEY (status 400)`]);
  t.deepEqual(await found(t, env), [`wrong voice.key: ${at} wants a key (status 400)`]);
  t.deepEqual([...new Set(asked)], ['GET /v1/voices']);
});

test('OpenAI-style APIs are asked for their models, by which key and model are tried', async (t) => {
  const list = { data: [{ id: 'whisper-1' }, { id: 'tts-1' }] };
  const { at, url, asked } = await provider(t, withKey('authorization', `Bearer ${password}`, list));
  const env = { STT_PROVIDER: 'openai', STT_URL: `${url}/v1`, TTS_PROVIDER: 'openai', TTS_URL: `${url}/v1` };
  t.deepEqual(await found(t, { ...env, STT_KEY: password, TTS_KEY: password, TTS_MODEL: 'tts-9' }), [
    `warning voice.model: ${at} does not list the model tts-9`,
    `ok voice.key: ${at} accepts STT_KEY`,
  ]);
  t.deepEqual(await found(t, { ...env, STT_KEY: 'other', TTS_KEY: password }), [
    `ok voice.key: ${at} accepts TTS_KEY`,
    `wrong voice.key: ${at} refuses STT_KEY (status 401)`,
  ]);
  t.deepEqual([...new Set(asked)], ['GET /v1/models']);
});

test('where there is no list it says that the key was not tried; other answers are reported', async (t) => {
  let answer = status(404);
  const { at, url } = await provider(t, (request, response) => answer(request, response));
  const env = { STT_PROVIDER: 'openai', STT_URL: `${url}/v1`, STT_KEY: password };
  const [line = ''] = await found(t, env);
  t.regex(line, /^ok voice\.not-tried: .* has no list by which STT_KEY could be tried/u);
  answer = status(500);
  t.deepEqual(await found(t, env), [`warning voice.failed: ${at} answers with status 500`]);
  answer = (_, response) => void response.end('[]');
  t.deepEqual(await found(t, env), [`ok voice.key: ${at} accepts STT_KEY`]);
});

test('what would cost something is only connected to', async (t) => {
  const { at, url, asked } = await provider(t, status(200));
  const keys = { STT_KEY: password, AVATAR_VENDOR_KEY: password };
  const lines = await found(t, { STT_PROVIDER: 'google', STT_URL: url, AVATAR_VENDOR_URL: url, ...keys });
  t.deepEqual(lines, [
    `ok voice.not-tried: ${at} accepts connections; whether it accepts STT_KEY shows only when a clip is sent, which may cost something`,
    `ok voice.not-tried: ${at} accepts connections; whether it accepts AVATAR_VENDOR_KEY shows only when a session is opened, which may cost something`,
  ]);
  t.deepEqual(asked, []);
});

test('a provider that is away is reported once', async (t) => {
  const closed = createServer();
  const at = await listen(closed, 0, '127.0.0.1');
  await new Promise((resolve) => closed.close(resolve));
  const env = { STT_PROVIDER: 'openai', STT_URL: `http://${at}/v1`, AVATAR_VENDOR_URL: `http://${at}` };
  t.deepEqual(await found(t, { ...env, AVATAR_VENDOR_KEY: password, VOICE_MODELS_URL: `http://${at}` }), [
    `warning voice.refused: nothing listens at ${at}`,
  ]);
});

test('the avatar catalogue of a URL is read', async (t) => {
  let answer = status(200, [{ id: 'zoe', label: 'Zoe', gender: 'FEMALE' }]);
  const { url, asked } = await provider(t, (request, response) => answer(request, response));
  const env = { VOICE_MODELS_URL: `${url}/faces` };
  const catalog = `${url}/faces/models.json`;
  t.deepEqual(await found(t, env), [`ok voice.models: ${catalog} lists 1 models`]);
  answer = status(200, [{ id: '../x', label: 'Zoe', gender: 'FEMALE' }]);
  const [line = ''] = await found(t, env);
  t.regex(line, /^wrong voice\.models: .* is no catalogue of models: .*small letters/su);
  answer = status(403);
  t.deepEqual(await found(t, env), [`wrong voice.models: ${catalog} answers with status 403`]);
  t.deepEqual([...new Set(asked)], ['GET /faces/models.json']);
});
