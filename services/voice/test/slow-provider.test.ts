import type { ServerResponse } from 'node:http';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { fakeProvider, mp3Of, type Received, voiceApp, voiceToken } from './voice-app.ts';

const english = { voiceName: 'en', languageCode: 'en-US' };
/** An MP3 that lasts one minute, at 64 kbit/s. */
const minute = mp3Of(Buffer.alloc(480_000, 7));
const requests = 100;

/** Starts a provider that responds to texts with "slow" when the gate opens, and to other texts at once. */
function slowProvider(t: Parameters<typeof voiceApp>[0], gate: { pass(): Promise<unknown> }) {
  return fakeProvider(t, async ({ body }: Received, response: ServerResponse) => {
    if (body.includes('slow')) await gate.pass();
    response.end(minute);
  });
}

for (const route of ['/tts', '/tts/stream']) {
  test(`${route}: ${requests} requests to a slow provider use little memory and delay nobody else`, async (t) => {
    const gate = createGate();
    const provider = await slowProvider(t, gate);
    const { base, ask } = await voiceApp(t, { TTS_PROVIDER: 'openai', TTS_URL: provider.url });
    const send = (i: number) =>
      fetch(`${base}${route}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${voiceToken()}`,
          'x-forwarded-for': `203.0.113.${i}`,
        },
        body: JSON.stringify({ ...english, text: `slow ${'word '.repeat(120)}` }),
      });
    const before = process.memoryUsage();
    const slow = Array.from({ length: requests }, (_, i) => send(i));
    await eventually('as many are with the provider as one tenant may have', () => provider.received.length === 16);

    t.is((await fetch(`${base}/health`)).status, 200);
    t.is((await fetch(`${base}/avatars/models`)).status, 200);
    const other = await ask('/tts', { ...english, text: 'quick' }, { token: voiceToken(2) });
    t.is(other.status, 200);
    t.is(provider.received.filter(({ body }) => body.includes('slow')).length, 16, 'the others still wait');
    const grown = (process.memoryUsage().rss - before.rss) / 2 ** 20;
    t.log(`${route}: ${Math.round(grown)} MB more with ${requests} requests open`);
    t.true(grown < 150, `${grown} MB`);

    gate.open();
    const statuses = await Promise.all(
      slow.map(async (each) => {
        const response = await each;
        const body = await response.arrayBuffer();
        if (response.status !== 200) t.log(Buffer.from(body).toString());
        return response.status;
      }),
    );
    t.deepEqual(
      statuses,
      Array.from({ length: requests }, () => 200),
    );
  });
}

test('a client that disconnects cancels its call; if the call is still queued, it is never made', async (t) => {
  const gate = createGate();
  const provider = await slowProvider(t, gate);
  const { ask, metrics } = await voiceApp(t, { TTS_PROVIDER: 'openai', TTS_URL: provider.url });
  const clients = Array.from({ length: requests }, (_, i) => {
    const client = new AbortController();
    const headers = { 'x-forwarded-for': `198.51.100.${i}` };
    const asked = ask('/tts', { ...english, text: `slow ${i}.` }, { signal: client.signal, headers });
    return { text: `slow ${i}.`, client, rejected: t.throwsAsync(asked) };
  });
  const waiting = async (calls: number) =>
    (await metrics()).includes(`parley_voice_calls_waiting{unit="voice"} ${calls}`);
  await eventually('all wait but those of one share', () => waiting(requests - 16));
  await eventually('the provider has that share', () => provider.received.length === 16);
  const served = new Set(provider.received.map(({ body }) => JSON.parse(body).input as string));
  for (const { text, client } of clients) if (!served.has(text)) client.abort();
  await eventually('none waits', () => waiting(0));
  for (const { client } of clients) client.abort();
  await Promise.all(clients.map(({ rejected }) => rejected));
  await eventually('all calls are cancelled', () => provider.cancelled.length === 16);
  t.is((await ask('/tts', { ...english, text: 'quick' })).status, 200);
  t.is(provider.received.length, 17);
});
