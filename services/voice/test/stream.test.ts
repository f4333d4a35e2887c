import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { readWav, wav } from '../src/audio/wav.ts';
import { fakeProvider, json, mp3Of, mp3Seconds, type Received, samplesOf, voiceApp, voiceToken } from './voice-app.ts';

const english = { voiceName: 'en-us+f3', languageCode: 'en-US' };
const sentence = 'The quick brown fox jumps over the lazy dog.';
/** A text of four pieces: the first sentence, and three pieces of more than 200 characters. */
const long = [
  sentence,
  ...Array.from({ length: 3 }, () => `${sentence.slice(0, -1)}, `.repeat(5).replace(/, $/u, '.')),
];

function streaming(t: ExecutionContext, env: Record<string, string> = {}) {
  return voiceApp(t, env).then((app) => ({
    ...app,
    stream: (request: object, more: RequestInit = {}, token = voiceToken()) =>
      fetch(`${app.base}/tts/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ ...english, ...request }),
        ...more,
      }),
  }));
}

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const said = ({ body }: Received) => JSON.parse(body).input as string;
const openai = (url: string) => ({ TTS_PROVIDER: 'openai', TTS_URL: url });

test('the audio of the first sentence is sent while the second is spoken', async (t) => {
  const gate = createGate();
  const provider = await fakeProvider(t, async (received, response) => {
    if (provider.received.length > 1) await gate.pass();
    response.end(mp3Of(`<${said(received).trim()}>`));
  });
  const { stream } = await streaming(t, openai(provider.url));
  const response = await stream({ text: 'One here. Two there.' });
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'audio/mpeg');
  t.is(response.headers.get('content-length'), null);
  const reader = response.body?.getReader();
  const first = await reader?.read();
  t.deepEqual(Buffer.from(first?.value ?? ''), mp3Of('<One here.>'));
  await eventually('the second sentence is asked for', () => provider.received.length === 2);
  gate.open();
  t.deepEqual(Buffer.from((await reader?.read())?.value ?? ''), mp3Of('<Two there.>'));
  t.true((await reader?.read())?.done);
});

test('eSpeak NG: a stream is one MP3 or WAV file, as long as the audio of /tts for the same text', async (t) => {
  const { stream, ask } = await streaming(t);
  const text = long.join(' ');
  const whole = samplesOf(
    Buffer.from((await ask('/tts', { ...english, text, audioEncoding: 'LINEAR16' })).body.audioContent, 'base64'),
  );
  const response = await stream({ text, audioEncoding: 'LINEAR16' });
  t.is(response.headers.get('content-type'), 'audio/wav');
  const file = await bytesOf(response);
  t.deepEqual([file.readUInt32LE(4), file.readUInt32LE(40)], [0xff_ff_ff_ff, 0xff_ff_ff_ff]);
  t.is(file.indexOf('RIFF', 1), -1, 'one header');
  const { seconds, loudness, rate } = samplesOf(file);
  t.is(rate, 22_050);
  t.true(Math.abs(seconds - whole.seconds) < 0.15 * whole.seconds, `${seconds} ${whole.seconds}`);
  t.true(loudness > 500);
  const mp3 = mp3Seconds(await bytesOf(await stream({ text })));
  t.true(Math.abs(mp3 - seconds) < 1, `${mp3} ${seconds}`);
  const fast = mp3Seconds(await bytesOf(await stream({ text, speakingRate: 2 })));
  t.true(fast < 0.7 * mp3, `${fast} ${mp3}`);
});

test('eSpeak NG: SSML is streamed sentence by sentence', async (t) => {
  const { stream } = await streaming(t);
  const ssml = (pause: string) =>
    `<speak><p>${sentence} <prosody rate="slow">${sentence}${pause}</prosody></p><p>${sentence}</p></speak>`;
  const [without, withPause] = [
    samplesOf(await bytesOf(await stream({ ssml: ssml(''), audioEncoding: 'LINEAR16' }))),
    samplesOf(await bytesOf(await stream({ ssml: ssml('<break time="2s"/>'), audioEncoding: 'LINEAR16' }))),
  ];
  t.true(without.seconds > 6 && without.seconds < 16, String(without.seconds));
  const longer = withPause.seconds - without.seconds;
  t.true(longer > 1.5 && longer < 3, String(longer));
});

test('Google-style SSML is requested in pieces that are valid SSML', async (t) => {
  const provider = await fakeProvider(t, json({ audioContent: mp3Of('audio').toString('base64') }));
  const { stream } = await streaming(t, { TTS_PROVIDER: 'google', TTS_URL: provider.url });
  t.deepEqual(
    await bytesOf(await stream({ ssml: '<speak><p>One. <mark name="a"/>Two.</p></speak>' })),
    Buffer.concat([mp3Of('audio'), mp3Of('audio')]),
  );
  t.deepEqual(
    provider.received.map(({ body }) => JSON.parse(body).input),
    [{ ssml: '<speak><p>One. </p></speak>' }, { ssml: '<speak><p><mark name="a"></mark>Two.</p></speak>' }],
  );
});

test('tags and headers with the length of a part are removed from an MP3', async (t) => {
  const frame = Buffer.concat([Buffer.from([0xff, 0xf3, 0x80, 0xc4]), Buffer.alloc(204, 1)]); // 64 kbit/s, 22,050 Hz
  const info = Buffer.from(frame);
  info.write('Info', 13);
  const id3 = Buffer.concat([Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 5]), Buffer.alloc(5)]);
  const old = Buffer.concat([Buffer.from('TAG'), Buffer.alloc(125)]);
  const provider = await fakeProvider(t, (_, response) => void response.end(Buffer.concat([id3, info, frame, old])));
  const { stream } = await streaming(t, openai(provider.url));
  const file = await bytesOf(await stream({ text: 'One. Two.' }));
  t.deepEqual(file, Buffer.concat([frame, frame]));
});

test('an error before the first audio gets the same response as from /tts', async (t) => {
  let status = 503;
  let content = {};
  const provider = await fakeProvider(t, (received, response) => json(content, status)(received, response));
  const { stream, ask } = await streaming(t, openai(provider.url));
  const same = async (request: object, expected: number) => {
    const [streamed, spoken] = [await stream(request), await ask('/tts', { ...english, ...request })];
    t.is(streamed.status, expected);
    t.is(spoken.status, expected);
    t.deepEqual(await streamed.json(), spoken.body);
    t.is(streamed.headers.get('retry-after'), spoken.headers.get('retry-after'));
  };
  await same({ text: 'a' }, 503);
  status = 400;
  await same({ text: 'a' }, 503);
  content = { error: { type: 'invalid_request_error', param: 'voice' } };
  await same({ text: 'a' }, 400);
  status = 403;
  await same({ text: 'a' }, 500);
  await same({ text: ' ' }, 400);
  await same({ ssml: '<speak>' }, 400);
  await same({ text: 'a', speakingRate: 9 }, 400);
  const unauthorized = await stream({ text: 'a' }, {}, 'x');
  t.is(unauthorized.status, 401);
});

test('an error after the first bytes resets the connection rather than ending the audio', async (t) => {
  const provider = await fakeProvider(t, (received, response) =>
    provider.received.length > 1 ? json({}, 500)(received, response) : void response.end(mp3Of('first')),
  );
  const { stream, metrics, base } = await streaming(t, openai(provider.url));
  const response = await stream({ text: 'One. Two.' });
  t.is(response.status, 200);
  await t.throwsAsync(response.arrayBuffer());
  await eventually('it is counted as an error', async () =>
    /parley_voice_request_seconds_count\{[^}]*route="\/tts\/stream",outcome="error"[^}]*\} 1/u.test(await metrics()),
  );

  provider.received.length = 0;
  const socket = connect(Number(new URL(base).port), '127.0.0.1');
  const body = JSON.stringify({ ...english, text: 'One. Two.' });
  socket.write(
    `POST /tts/stream HTTP/1.0\r\nauthorization: Bearer ${voiceToken()}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  socket.resume();
  await t.throwsAsync(once(socket, 'end'), { code: 'ECONNRESET' }, 'HTTP/1.0 has no chunks');
});

test('a stream whose parts have different formats resets the connection', async (t) => {
  const provider = await fakeProvider(
    t,
    (_, response) => void response.end(wav(Buffer.alloc(200), 8_000 * provider.received.length)),
  );
  const { stream } = await streaming(t, openai(provider.url));
  const response = await stream({ text: 'One. Two.', audioEncoding: 'LINEAR16' });
  await t.throwsAsync(response.arrayBuffer());
  t.is(provider.received.length, 2);
});

test('a client that leaves cancels the call of the provider', async (t) => {
  const provider = await fakeProvider(t, (_, response) => {
    if (provider.received.length === 1) response.end(mp3Of('first'));
  });
  const { stream } = await streaming(t, openai(provider.url));
  const client = new AbortController();
  const response = await stream({ text: long.join(' ') }, { signal: client.signal });
  await eventually('the second piece is asked for', () => provider.received.length === 2);
  client.abort();
  await t.throwsAsync(response.arrayBuffer());
  await eventually('its call is cancelled', () => provider.cancelled.length === 1);
  t.is(provider.received.length, 2);
});

/** More bytes than the buffers of a loopback connection can hold. */
const large = mp3Of(Buffer.alloc(16_000_000, 1));

test('only one piece is synthesized ahead of a client that does not read', async (t) => {
  const provider = await fakeProvider(t, (received, response) => {
    response.end(said(received) === 'a' ? mp3Of('a') : large);
  });
  const { stream, ask } = await streaming(t, openai(provider.url));
  const response = await stream({ text: long.join(' ') });
  await eventually('the second piece is asked for', () => provider.received.length === 2);
  for (let i = 0; i < 5; i += 1) t.is((await ask('/tts', { ...english, text: 'a' })).status, 200);
  const pieces = provider.received.filter((each) => said(each) !== 'a');
  t.is(pieces.length, 2, 'the others wait for the client');
  t.is((await bytesOf(response)).length, 4 * large.length);
});

test('a client that stops reading is disconnected, and its memory is released', async (t) => {
  const provider = await fakeProvider(t, (_, response) => void response.end(large));
  const { stream } = await streaming(t, {
    ...openai(provider.url),
    VOICE_STALL_TIMEOUT_MS: '3000',
    VOICE_MAX_BODIES_BYTES: '160000000',
  });
  const stalled = await stream({ text: long.join(' ') });
  await eventually('two pieces are held', () => provider.received.length === 2);
  await eventually('another stream has the memory', async () => {
    const response = await stream({ text: 'One. Two.' });
    if (response.status === 429) await response.arrayBuffer();
    return response.status === 200 && (await bytesOf(response).catch(() => '')).length === 2 * large.length;
  });
  await t.throwsAsync(stalled.arrayBuffer());
});

test("audio beyond the tenant's share of memory is 429 before the first bytes", async (t) => {
  const provider = await fakeProvider(t, (_, response) => void response.end(large));
  const { stream } = await streaming(t, { ...openai(provider.url), VOICE_MAX_BODIES_BYTES: '10000000' });
  t.is((await stream({ text: 'a' })).status, 429);
});

test('concurrent streams are all complete', async (t) => {
  const { stream } = await streaming(t);
  const text = long.slice(0, 2).join(' ');
  const files = await Promise.all(
    Array.from({ length: 12 }, async () => bytesOf(await stream({ text, audioEncoding: 'LINEAR16' }))),
  );
  const lengths = files.map((file) => readWav(file).pcm.length);
  t.true(Math.min(...lengths) > 0.9 * Math.max(...lengths), String(lengths)); // the length of this voice's audio varies
});
