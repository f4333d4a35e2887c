import type { ServerResponse } from 'node:http';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { wav } from '../src/audio/wav.ts';
import { fakeProvider, json, mp3Of, type Received, sessionToken, voiceApp, voiceToken } from './voice-app.ts';

const words = { text: 'Hello', voiceName: 'en-US-Neural2-F', languageCode: 'en-US' };
const clip = { audioBase64: Buffer.from('sound').toString('base64'), audioEncoding: 'OGG_OPUS', languageCode: 'en-US' };

test('Google-style speech is requested with text, voice, rate and encoding, and returns audio and marks', async (t) => {
  const audioContent = wav(Buffer.from('audio.'), 16_000).toString('base64');
  const google = await fakeProvider(t, json({ audioContent, timepoints: [{ markName: 'a', timeSeconds: 1.5 }] }));
  const { ask } = await voiceApp(t, { TTS_PROVIDER: 'google', TTS_URL: `${google.url}/`, TTS_KEY: 'k' });
  const ssml = '<speak>a<mark name="a"/></speak>';
  const { status, body } = await ask('/tts', { ...words, ssml, speakingRate: 1.5, audioEncoding: 'LINEAR16' });
  t.deepEqual([status, body], [200, { audioContent, timepoints: [{ markName: 'a', timeSeconds: 1.5 }] }]);
  const [{ url, headers, body: sent } = { url: '', headers: {}, body: '' }] = google.received;
  t.is(url, '/v1beta1/text:synthesize');
  t.is(headers['x-goog-api-key'], 'k');
  t.deepEqual(JSON.parse(sent), {
    input: { ssml },
    voice: { languageCode: 'en-US', name: 'en-US-Neural2-F' },
    audioConfig: { audioEncoding: 'LINEAR16', speakingRate: 1.5 },
    enableTimePointing: ['SSML_MARK'],
  });
});

test('OpenAI-style speech gets the text of SSML', async (t) => {
  const openai = await fakeProvider(t, (_, response) => void response.end(mp3Of('mp3')));
  const env = { TTS_PROVIDER: 'openai', TTS_URL: `${openai.url}/v1`, TTS_KEY: 'k' };
  const { ask } = await voiceApp(t, env);
  const { body } = await ask('/tts', { ...words, ssml: '<speak>Tom &amp; <p>Jerry</p></speak>' });
  t.deepEqual(body, { audioContent: mp3Of('mp3').toString('base64'), timepoints: [] });
  const [{ url, headers, body: sent } = { url: '', headers: {}, body: '' }] = openai.received;
  t.is(url, '/v1/audio/speech');
  t.is(headers.authorization, 'Bearer k');
  t.like(JSON.parse(sent), { model: 'tts-1', input: 'Tom & Jerry', speed: 1, response_format: 'mp3' });
});

test('Google-style transcription: each encoding has its rate, and results are joined', async (t) => {
  const alternatives = (transcript: string, confidence: number) => ({ alternatives: [{ transcript, confidence }] });
  const google = await fakeProvider(t, json({ results: [alternatives('Hello', 0.5), alternatives(' there', 1)] }));
  const { ask } = await voiceApp(t, { STT_PROVIDER: 'google', STT_URL: google.url });
  const { body } = await ask('/stt', clip);
  t.deepEqual(body, { transcript: 'Hello there', confidence: 0.75, languageCode: 'en-US' });
  await ask('/stt', { ...clip, audioEncoding: 'WEBM_OPUS' });
  await ask('/stt', { ...clip, audioEncoding: 'MP3', sampleRateHertz: 44_100 });
  await ask('/stt', { ...clip, audioEncoding: 'LINEAR16' });
  const configs = google.received.map(({ body: sent }) => JSON.parse(sent).config);
  t.deepEqual(
    configs.map(({ encoding, sampleRateHertz }) => `${encoding} ${sampleRateHertz}`),
    ['OGG_OPUS 16000', 'WEBM_OPUS 48000', 'MP3 44100', 'LINEAR16 16000'],
  );
});

test('silence has an empty transcript', async (t) => {
  const google = await fakeProvider(t, json({}));
  const { ask } = await voiceApp(t, { STT_PROVIDER: 'google', STT_URL: google.url });
  t.deepEqual((await ask('/stt', clip)).body, { transcript: '', confidence: 0, languageCode: 'en-US' });
});

test('OpenAI-style transcription gets a file of the right kind, PCM with a WAV header', async (t) => {
  const openai = await fakeProvider(t, json({ text: ' Hello ', segments: [{ avg_logprob: -0.1 }, {}] }));
  const { ask } = await voiceApp(t, { STT_PROVIDER: 'openai', STT_URL: openai.url, STT_KEY: 'k' });
  const { body } = await ask('/stt', clip);
  t.deepEqual(body, { transcript: 'Hello', confidence: Math.exp(-0.1), languageCode: 'en-US' });
  await ask('/stt', { ...clip, audioEncoding: 'LINEAR16' });
  const [ogg, pcm] = openai.received.map(({ body: sent }) => sent);
  t.regex(ogg ?? '', /filename="clip\.ogg"[\s\S]*sound/u);
  t.regex(ogg ?? '', /name="language"\r\n\r\nen\r\n/u);
  t.true(pcm?.includes(wav(Buffer.from('sound'), 16_000).toString('latin1')));
});

test('an invalid clip is refused with the problem', async (t) => {
  const google = await fakeProvider(t, json({}));
  const { ask } = await voiceApp(t, { STT_PROVIDER: 'google', STT_URL: google.url });
  const message = async (change: object) => {
    const { status, body } = await ask(
      '/stt',
      { ...clip, ...change },
      { headers: { 'x-forwarded-for': nextAddress() } },
    );
    t.is(status, 400);
    return body.error.message;
  };
  t.is(await message({ audioBase64: '' }), 'audioBase64 must not be empty');
  t.is(await message({ audioBase64: '???' }), 'audioBase64 must be base64');
  t.is(await message({ audioBase64: 'a'.repeat(5_600_004) }), 'audioBase64 must have at most 5600000 characters');
  t.is(await message({ audioEncoding: 'FLAC' }), 'audioEncoding must be MP3, LINEAR16, WEBM_OPUS or OGG_OPUS');
  t.is(await message({ sampleRateHertz: 7_999 }), 'sampleRateHertz must be between 8000 and 48000');
  t.is(await message({ languageCode: undefined }), 'languageCode must be given');
  t.is(google.received.length, 0);
  const { status } = await ask('/stt', { ...clip, audioBase64: 'a'.repeat(5_600_000) });
  t.is(status, 200, 'exactly the limit');
});

let addresses = 0;
const nextAddress = () => `203.0.113.${(addresses += 1)}`;

test('without a provider transcription is unavailable, with a clear message', async (t) => {
  const { ask } = await voiceApp(t);
  const { status, body } = await ask('/stt', clip);
  t.deepEqual([status, body.error.code], [503, 'UNAVAILABLE']);
  t.is(body.error.message, 'There is no transcription here: STT_PROVIDER is not set');
});

test('without Whisper in its folder transcription is unavailable, and the message names what installs it', async (t) => {
  const { ask } = await voiceApp(t, { STT_PROVIDER: 'whisper', VOICE_WHISPER_FOLDER: '/nowhere' });
  const { status, body } = await ask('/stt', clip);
  t.deepEqual([status, body.error.code], [503, 'UNAVAILABLE']);
  t.regex(body.error.message, /VOICE_WHISPER_FOLDER has no Whisper; scripts\/ear installs it/u);
});

test('a provider that is limited, broken, slow or unreadable is 503, and one that refuses the clip is 400; its response is not shown', async (t) => {
  let answer = json({});
  const provider = await fakeProvider(t, (received, response) => answer(received, response));
  const env = { STT_PROVIDER: 'google', STT_URL: provider.url, VOICE_MAX_ANSWER_BYTES: '1000' };
  const patient = await voiceApp(t, env);
  const hasty = await voiceApp(t, { ...env, VOICE_PROVIDER_TIMEOUT_MS: '500' });
  const outcome = async (next: typeof answer, { ask } = patient) => {
    answer = next;
    const { status, body, headers } = await ask('/stt', clip, { headers: { 'x-forwarded-for': nextAddress() } });
    t.notRegex(JSON.stringify(body), /secret|127\.0/u);
    t.is(headers.has('retry-after'), status === 503);
    return `${status} ${body.error?.code}`;
  };
  for (const status of [429, 500, 502, 503]) t.is(await outcome(json({ secret: 1 }, status)), '503 UNAVAILABLE');
  t.is(await outcome((_, response) => void response.end('secret')), '503 UNAVAILABLE');
  t.is(await outcome(json({ results: 'secret' })), '503 UNAVAILABLE');
  t.is(await outcome(json({ error: 'secret' })), '503 UNAVAILABLE');
  t.is(await outcome((_, response) => void response.end('x'.repeat(2_000))), '503 UNAVAILABLE');
  t.is(await outcome((_, response) => void response.destroy()), '503 UNAVAILABLE');
  t.is(await outcome((_, response) => void response.writeHead(302, { location: '/secret' }).end()), '503 UNAVAILABLE');
  t.is(await outcome(() => undefined, hasty), '503 UNAVAILABLE');
  t.is(await outcome(json({ error: 'secret' }, 400)), '503 UNAVAILABLE');
  t.is(await outcome(json({ error: 'secret' }, 404)), '503 UNAVAILABLE');
  const refused = (reason?: string) =>
    json({ error: { status: 'INVALID_ARGUMENT', message: 'secret', details: [{ '@type': 'x', reason }] } }, 400);
  t.is(await outcome(refused()), '400 BAD_REQUEST');
  t.is(await outcome(refused('API_KEY_INVALID')), '503 UNAVAILABLE');
  t.is(await outcome(json({ error: 'secret' }, 403)), '500 INTERNAL');
});

test("a model that the provider does not know is not the client's fault, and counts as an error", async (t) => {
  let error = {};
  const openai = await fakeProvider(t, (received, response) => json({ error }, 400)(received, response));
  const { ask, metrics } = await voiceApp(t, { TTS_PROVIDER: 'openai', TTS_URL: openai.url });
  for (const wrong of [{ param: 'model' }, { code: 'model_not_found' }, { code: 'invalid_api_key' }]) {
    error = { type: 'invalid_request_error', ...wrong };
    t.is((await ask('/tts', words)).status, 503);
  }
  t.regex(await metrics(), /parley_voice_provider_seconds_count\{[^}]*what="tts",outcome="error"[^}]*\} 3/u);
  error = { type: 'invalid_request_error', param: 'voice' };
  t.is((await ask('/tts', words)).status, 400);
});

test('a response that is not audio of the requested encoding is not passed on', async (t) => {
  const answers = ['<html>Bearer secret</html>', '', 'RIFF'];
  for (const provider of ['openai', 'google']) {
    let answer = '';
    const { url } = await fakeProvider(t, (received, response) => {
      if (provider === 'openai') return void response.end(answer);
      return json({ audioContent: Buffer.from(answer).toString('base64') })(received, response);
    });
    const { ask } = await voiceApp(t, { TTS_PROVIDER: provider, TTS_URL: url });
    for (const route of ['/tts', '/tts/stream']) {
      for (const audioEncoding of ['MP3', 'LINEAR16']) {
        for (answer of answers) {
          const { status, body } = await ask(route, { ...words, audioEncoding });
          t.is(status, 503, `${provider} ${route} ${audioEncoding} ${answer}`);
          t.is(body.error.message, 'The speech provider gave an answer that cannot be read; try again in a while');
        }
      }
    }
  }
});

test('a client that leaves cancels the call of the provider', async (t) => {
  const provider = await fakeProvider(t, () => undefined);
  const { ask } = await voiceApp(t, { STT_PROVIDER: 'google', STT_URL: provider.url });
  const client = new AbortController();
  const asked = ask('/stt', clip, { signal: client.signal });
  await eventually('the provider is asked', () => provider.received.length === 1);
  client.abort();
  await t.throwsAsync(asked);
  await eventually('its call is cancelled', () => provider.cancelled.length === 1);
});

test('concurrent calls of a tenant are bounded; further calls are queued or refused, and other tenants are served', async (t) => {
  const gate = createGate();
  const provider = await fakeProvider(t, async ({ body }, response) => {
    if (JSON.parse(body).config.languageCode === 'de') await gate.pass();
    json({})({ url: '', headers: {}, body: '' }, response);
  });
  const { ask } = await voiceApp(t, {
    STT_PROVIDER: 'google',
    STT_URL: provider.url,
    VOICE_CALLS_PER_TENANT: '2',
    VOICE_WAITING_PER_TENANT: '3',
  });
  const slow = Array.from({ length: 6 }, () =>
    ask('/stt', { ...clip, languageCode: 'de' }, { headers: { 'x-forwarded-for': nextAddress() } }),
  );
  const first = await Promise.race(slow);
  const error = { code: 'TOO_MANY_REQUESTS', message: 'Too many requests; try again in a minute' };
  t.deepEqual([first.status, first.body.error], [429, error], 'it does not say which limit was reached');
  t.is(provider.received.length, 2);
  t.is((await ask('/stt', clip, { token: voiceToken(2) })).status, 200);
  gate.open();
  const statuses = (await Promise.all(slow)).map(({ status }) => status).toSorted((a, b) => a - b);
  t.deepEqual(statuses, [200, 200, 200, 200, 200, 429]);
});

const avatar = { vendorAvatarId: 'anna', vendorAvatarModel: 'v2' };

test('a session of a hosted avatar is opened with the configuration in the token, and with no value of the client', async (t) => {
  const vendor = await fakeProvider(t, json({ sessionToken: 'vendor-token', other: 1 }));
  const { ask, base } = await voiceApp(t, { AVATAR_VENDOR_URL: vendor.url, AVATAR_VENDOR_KEY: 'k' });
  const token = sessionToken(avatar);
  for (const body of [{}, avatar, { vendorAvatarId: null, extra: 'x' }]) {
    t.deepEqual((await ask('/avatar-session', body, { token })).body, { sessionToken: 'vendor-token' });
  }
  const withoutBody = await fetch(`${base}/avatar-session`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  t.deepEqual(await withoutBody.json(), { sessionToken: 'vendor-token' });
  for (const { url, headers, body } of vendor.received) {
    t.is(url, '/v1/auth/session-token');
    t.is(headers.authorization, 'Bearer k');
    t.deepEqual(JSON.parse(body), { personaConfig: { avatarId: 'anna', avatarModel: 'v2' } });
  }
});

test("another avatar is forbidden, and so is a tenant's token; an agent without a hosted avatar is a bad request", async (t) => {
  const vendor = await fakeProvider(t, json({ sessionToken: 'v' }));
  const { ask } = await voiceApp(t, { AVATAR_VENDOR_URL: vendor.url, AVATAR_VENDOR_KEY: 'k' });
  const outcome = async (body: object, token: string) => {
    const answer = await ask('/avatar-session', body, { token });
    return `${answer.status} ${answer.body.error.code}`;
  };
  t.is(await outcome({ vendorAvatarId: 'bert' }, sessionToken(avatar)), '403 FORBIDDEN');
  t.is(await outcome({ ...avatar, vendorAvatarModel: 'v3' }, sessionToken(avatar)), '403 FORBIDDEN');
  t.is(await outcome({ vendorAvatarId: '' }, sessionToken(avatar)), '400 BAD_REQUEST');
  t.is(await outcome({}, voiceToken()), '403 FORBIDDEN');
  t.is(await outcome({}, sessionToken()), '400 BAD_REQUEST');
  t.is(vendor.received.length, 0);
});

test('every fault of the vendor is the same 500', async (t) => {
  let answer: (_: Received, response: ServerResponse) => unknown = json({});
  const vendor = await fakeProvider(t, (received, response) => void answer(received, response));
  const env = { AVATAR_VENDOR_URL: vendor.url, AVATAR_VENDOR_KEY: 'k' };
  const patient = await voiceApp(t, env);
  const hasty = await voiceApp(t, { ...env, VOICE_PROVIDER_TIMEOUT_MS: '500' });
  const without = await voiceApp(t);
  const error = { code: 'INTERNAL', message: 'Something went wrong on our side' };
  const faults = [400, 401, 403, 429, 500].map((status) => json({ detail: 'secret' }, status));
  const fromVendor = async (fault: typeof answer, { ask } = patient) => {
    answer = fault;
    const { status, body } = await ask('/avatar-session', {}, { token: sessionToken(avatar) });
    t.deepEqual([status, body], [500, { error }]);
  };
  for (const fault of [...faults, json({}), (_: unknown, response: ServerResponse) => response.destroy()])
    await fromVendor(fault);
  await fromVendor(() => undefined, hasty);
  const { status, body } = await without.ask('/avatar-session', {}, { token: sessionToken(avatar) });
  t.deepEqual([status, body], [500, { error }]);
});
