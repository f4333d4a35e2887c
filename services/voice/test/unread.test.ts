import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { fakeProvider, json, mp3Of, voiceApp, voiceToken } from './voice-app.ts';

const english = { voiceName: 'en-us+f3', languageCode: 'en-US' };
/** More bytes than the buffers of a loopback connection can hold. */
const large = mp3Of(Buffer.alloc(16_000_000, 1));

async function speaking(t: ExecutionContext, env: Record<string, string> = {}) {
  const provider = await fakeProvider(t, ({ body }, response) => {
    response.end(body.includes('short') ? mp3Of('short') : large);
  });
  const app = await voiceApp(t, {
    TTS_PROVIDER: 'openai',
    TTS_URL: provider.url,
    VOICE_MAX_BODIES_BYTES: '80000000',
    ...env,
  });
  const open = (text: string, { token = voiceToken(), address = '203.0.113.1', route = '/tts' } = {}) =>
    fetch(`${app.base}${route}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-forwarded-for': address,
      },
      body: JSON.stringify({ ...english, text }),
    });
  const status = async (...given: Parameters<typeof open>) => {
    const response = await open(...given);
    await response.arrayBuffer();
    return response.status;
  };
  return { ...app, open, status };
}

test('an unread response counts for its tenant and its address only', async (t) => {
  const { open, status } = await speaking(t);
  const unread = await open('long');
  t.is(unread.status, 200);
  t.is(await status('long'), 429);
  t.is(await status('long', { address: '203.0.113.2' }), 429, 'the same tenant');
  t.is(await status('long', { token: voiceToken(2) }), 429, 'the same address');
  t.is(await status('long', { token: voiceToken(2), address: '203.0.113.2' }), 200);
  t.is(await status('short'), 200, 'the rest of the share is still there');
  const { audioContent } = (await unread.json()) as { audioContent: string };
  t.true(Buffer.from(audioContent, 'base64').equals(large), 'it is whole');
  await eventually('the share is given back', async () => (await status('long')) === 200);
});

test('a client that does not read its response is disconnected, and its memory is released', async (t) => {
  const { open, status } = await speaking(t, { VOICE_STALL_TIMEOUT_MS: '2000' });
  const unread = await open('long');
  t.is(unread.status, 200);
  await eventually('the share is given back', async () => (await status('long', { address: '203.0.113.2' })) === 200);
  await t.throwsAsync(unread.arrayBuffer());
});

test('the memory of a client that disconnects before its answer is released', async (t) => {
  const gate = createGate();
  const provider = await fakeProvider(t, async (_, response) => {
    await gate.pass();
    response.end(mp3Of('short'));
  });
  const { ask } = await voiceApp(t, {
    TTS_PROVIDER: 'openai',
    TTS_URL: provider.url,
    VOICE_MAX_BODIES_BYTES: '400000',
  });
  const padded = { ...english, text: 'a', padding: 'x'.repeat(60_000) };
  for (let i = 1; i <= 3; i += 1) {
    const client = new AbortController();
    const asked = ask('/tts', padded, { signal: client.signal });
    await eventually('the provider is asked', () => provider.received.length === i);
    client.abort();
    await t.throwsAsync(asked);
    await eventually('its call is cancelled', () => provider.cancelled.length === i);
  }
  gate.open();
  t.is((await ask('/tts', padded)).status, 200);
});

test('a request ends at its time limit, however slow its provider is', async (t) => {
  const provider = await fakeProvider(t, (_, response) => {
    if (provider.received.length === 1) response.end(mp3Of('first'));
  });
  const { base } = await voiceApp(t, {
    TTS_PROVIDER: 'openai',
    TTS_URL: provider.url,
    VOICE_ANSWER_TIMEOUT_MS: '3000',
  });
  const response = await fetch(`${base}/tts/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${voiceToken()}` },
    body: JSON.stringify({ ...english, text: 'One here. Two there.' }),
  });
  t.is(response.status, 200);
  await t.throwsAsync(response.arrayBuffer());
  await eventually('the call of the provider is cancelled', () => provider.cancelled.length === 1);
});

test('one tenant or address may use a quarter of the memory, and all together the whole', async (t) => {
  const gate = createGate();
  const stt = await fakeProvider(t, async (received, response) => {
    await gate.pass();
    json({})(received, response);
  });
  const { ask } = await voiceApp(t, { VOICE_MAX_BODIES_BYTES: '400000', STT_PROVIDER: 'google', STT_URL: stt.url });
  const clip = { audioBase64: 'a'.repeat(80_000), audioEncoding: 'MP3', languageCode: 'en' };
  const send = (tenantId: number, address: string) =>
    ask('/stt', clip, { token: voiceToken(tenantId), headers: { 'x-forwarded-for': address } });
  const held = [send(1, '203.0.113.1')];
  await eventually('the first is held', () => stt.received.length === 1);
  t.is((await send(1, '203.0.113.2')).status, 429);
  t.is((await send(2, '203.0.113.1')).status, 429);
  for (let i = 2; i <= 4; i += 1) held.push(send(i, `203.0.113.${i}`));
  await eventually('four tenants are held', () => stt.received.length === 4);
  const { status, body } = await send(5, '203.0.113.5');
  t.deepEqual([status, body.error.code], [503, 'UNAVAILABLE']);
  gate.open();
  for (const each of await Promise.all(held)) t.is(each.status, 200);
  t.is((await send(1, '203.0.113.9')).status, 200);
});

test("the bytes of a provider's answer are charged as they arrive", async (t) => {
  const stt = await fakeProvider(t, json({ results: [], padding: 'x'.repeat(120_000) }));
  const { ask } = await voiceApp(t, { VOICE_MAX_BODIES_BYTES: '400000', STT_PROVIDER: 'google', STT_URL: stt.url });
  const { status } = await ask('/stt', { audioBase64: 'aaaa', audioEncoding: 'MP3', languageCode: 'en' });
  t.is(status, 429);
});
