import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Caller } from '@parley/kernel/caller';
import { listen } from '@parley/kernel/http/listen';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import { eventually } from '@parley/testing/eventually';
import { requestOf } from '@parley/testing/request-of';
import test, { type ExecutionContext } from 'ava';
import { inTenant, sessionMesh, tokenKeys } from './session-mesh.ts';
import { sessionUnit } from './session-unit.ts';

const document = `mutation ($input: TranscribeSpeechInput!) {
  transcribeSpeech(input: $input) { transcript confidence languageCode } }`;
const clip = {
  audioBase64: Buffer.from('sound').toString('base64'),
  audioEncoding: 'WEBM_OPUS',
  languageCode: 'en-US',
};
const said = { transcript: 'Hello', confidence: 0.5, languageCode: 'en-US' };
const key = Buffer.from(tokenKeys.slice('k1:'.length), 'base64');
const tokens = createSessionTokens([{ id: 'k1', key }]);

/** Starts a fake voice service that records requests and returns the given response. */
async function fakeVoice(
  t: ExecutionContext,
  answer: (response: ServerResponse) => void = (response) => void response.end(JSON.stringify(said)),
) {
  const received: { url?: string | undefined; headers: IncomingMessage['headers']; body: string }[] = [];
  const state = { cancelled: 0 };
  const server = createServer(async (request, response) => {
    response.once('close', () => {
      if (!response.writableFinished) state.cancelled += 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    received.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
    answer(response);
  });
  const url = `http://${await listen(server)}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url, received, state };
}

test('a clip is transcribed by voice, with a token of the tenant and the address of the client', async (t) => {
  const voice = await fakeVoice(t);
  const { graph, addresses } = await sessionUnit(t);
  addresses.announce('voice', 'public', voice.url);
  const user: Caller = { ...inTenant(7), ip: '203.0.113.5' };
  t.deepEqual(await graph(user, document, { input: clip }), { data: { transcribeSpeech: said } });
  const [{ url, headers, body } = { headers: {} as IncomingMessage['headers'], body: '' }] = voice.received;
  t.is(url, '/stt');
  t.deepEqual(JSON.parse(body), clip);
  const claims = tokens.verify(headers.authorization?.replace('Bearer ', ''), 'voice');
  t.like(claims, { tenantId: 7, clientIp: '203.0.113.5' });

  for (const kind of ['anonymous', 'apiKey', 'session', 'service'] as const) {
    const { errors } = await graph({ kind, tenantId: 1, requestId: 'r' }, document, { input: clip });
    t.is(errors?.[0]?.extensions['code'], 'UNAUTHENTICATED', kind);
  }
  const { errors } = await graph({ ...user, tenantId: null }, document, { input: clip });
  t.like(errors?.[0]?.extensions, { code: 'FORBIDDEN', reason: 'NO_TENANT' });
  t.is(voice.received.length, 1);
});

test('each problem of a clip names its field, and the clip is not sent', async (t) => {
  const voice = await fakeVoice(t);
  const { graph, addresses } = await sessionUnit(t);
  addresses.announce('voice', 'public', voice.url);
  const refusalOf = async (input: object) => {
    const { errors } = await graph(inTenant(1), document, { input: { ...clip, ...input } });
    const { code, fields } = errors?.[0]?.extensions ?? {};
    t.is(code, 'BAD_REQUEST');
    return (fields as { path: string; message: string }[]).map(({ path, message }) => `${path} ${message}`);
  };
  const four = 'must be MP3, LINEAR16, WEBM_OPUS or OGG_OPUS';
  t.deepEqual(await refusalOf({ audioEncoding: 'FLAC', sampleRateHertz: 7_999 }), [
    `input.audioEncoding ${four}`,
    'input.sampleRateHertz must be between 8000 and 48000',
  ]);
  t.deepEqual(await refusalOf({ audioEncoding: 'webm_opus' }), [`input.audioEncoding ${four}`]);
  t.deepEqual(await refusalOf({ sampleRateHertz: 48_001 }), ['input.sampleRateHertz must be between 8000 and 48000']);
  t.deepEqual(await refusalOf({ audioBase64: '' }), ['input.audioBase64 must not be empty']);
  for (const audioBase64 of ['AAA', 'AA=A', 'A-_=', 'AAAA\n', 'data:audio/webm;base64,AAAA'])
    t.deepEqual(await refusalOf({ audioBase64 }), ['input.audioBase64 must be base64'], audioBase64);
  const maxLength = 5_600_000;
  t.deepEqual(await refusalOf({ audioBase64: 'A'.repeat(maxLength + 4) }), [
    `input.audioBase64 must have at most ${maxLength} characters`,
  ]);
  for (const languageCode of ['english please', '-', 'e', '../en'])
    t.deepEqual(await refusalOf({ languageCode }), ['input.languageCode must be a language code such as en-US']);
  t.is(voice.received.length, 0);
  const { data } = await graph(inTenant(1), document, { input: { ...clip, audioBase64: 'A'.repeat(maxLength) } });
  t.deepEqual(data?.['transcribeSpeech'], said, 'a clip of the largest size passes');
});

test('while voice is down, absent or too slow, a transcription is unavailable with a plain message', async (t) => {
  const { graph, addresses } = await sessionUnit(t, { SESSION_VOICE_TIMEOUT_MS: '100' });
  const slow = await fakeVoice(t, () => undefined);
  for (const address of [undefined, 'http://127.0.0.1:1', slow.url]) {
    if (address !== undefined) addresses.announce('voice', 'public', address);
    const { errors } = await graph(inTenant(1), document, { input: clip });
    t.is(errors?.[0]?.extensions['code'], 'UNAVAILABLE', address);
    t.is(errors?.[0]?.message, 'The voice service is not available at the moment; try again in a while');
  }
  await eventually('the slow call is cancelled', () => slow.state.cancelled === 1);
});

test('a client that disconnects cancels its transcription', async (t) => {
  const voice = await fakeVoice(t, () => undefined);
  const { app, addresses } = await sessionMesh(t);
  addresses.announce('voice', 'public', voice.url);
  const leaving = new AbortController();
  const answer = app.transcribeSpeech(requestOf(inTenant(1), leaving), clip);
  await eventually('voice has the clip', () => voice.received.length === 1);
  leaving.abort(new Error('left'));
  t.is((await t.throwsAsync(answer))?.message, 'left');
  await eventually('the call is cancelled', () => voice.state.cancelled === 1);
});
