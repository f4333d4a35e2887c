import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import type { UnitHttp } from '@parley/unit/unit-http';
import test from 'ava';
import { voiceTranscriber } from './voice-transcriber.ts';

const clip = { audioBase64: 'AAAA', audioEncoding: 'MP3', languageCode: 'en-US' };
const whose = { tenantId: 1, token: 'pst1', signal: new AbortController().signal };
const transcript = { transcript: 'Hello', confidence: 0.5, languageCode: 'en-US' };

const answering =
  (status: number, body: unknown): UnitHttp =>
  async () => ({ status, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) });
const refused = (status: number, message: unknown) => answering(status, { error: { code: 'X', message } });
const transcribing = (voice: UnitHttp, given = whose) => voiceTranscriber(voice, 4)(clip, given);

test('a transcript of voice is answered as it is', async (t) => {
  const asked: unknown[] = [];
  const answer = await transcribing((path, request) => {
    asked.push(path, request);
    return answering(200, { ...transcript, more: 1 })(path, request);
  });
  t.deepEqual(answer, transcript);
  t.deepEqual(asked, ['/stt', { method: 'POST', token: 'pst1', body: clip, signal: whose.signal }]);
});

const problem = 'The voice service had a problem; try again in a while';
const cases: [string, UnitHttp, object][] = [
  ['a clip that voice refuses', refused(400, 'no speech'), { kind: 'invalid', message: 'no speech' }],
  ['a clip too large for voice', refused(413, 'too large'), { kind: 'invalid', message: 'too large' }],
  ['a refusal without words', answering(400, '<html>'), { kind: 'invalid', message: 'The clip was refused' }],
  [
    'a refusal with too many words',
    refused(400, 'x'.repeat(1_001)),
    { kind: 'invalid', message: 'The clip was refused' },
  ],
  [
    'the throttle of voice',
    refused(429, 'anything'),
    { kind: 'tooManyRequests', message: 'Too many transcriptions; try again in a minute' },
  ],
  ['voice without a provider', refused(503, 'set STT_PROVIDER'), { kind: 'unavailable', message: 'set STT_PROVIDER' }],
  ['a proxy without voice', answering(503, 'no upstream'), { kind: 'unavailable', message: problem }],
  ['a fault of voice', refused(500, 'oops'), { kind: 'unavailable', message: problem }],
  ['something else at its address', answering(404, 'nothing'), { kind: 'unavailable', message: problem }],
  ['keys that differ', refused(401, 'token'), { kind: 'internal' }],
  ['no JSON', answering(200, 'Hello'), { kind: 'unavailable' }],
  ['another shape', answering(200, { transcript: 7 }), { kind: 'unavailable' }],
  ['a confidence beyond 1', answering(200, { ...transcript, confidence: 2 }), { kind: 'unavailable' }],
];
for (const [what, voice, error] of cases)
  test(`transcribing: ${what}`, async (t) => {
    t.like(await t.throwsAsync(transcribing(voice)), error);
  });

test('a tenant has half of the transcriptions at once; one that leaves while it waits is not sent', async (t) => {
  const gate = createGate();
  let sent = 0;
  const transcribe = voiceTranscriber(async () => {
    sent += 1;
    await gate.pass();
    return { status: 200, body: Buffer.from(JSON.stringify(transcript)) };
  }, 4);
  const leaving = new AbortController();
  const first = [1, 2].map(() => transcribe(clip, whose));
  const left = transcribe(clip, { ...whose, signal: leaving.signal });
  const waiting = [1, 2, 3].map(() => transcribe(clip, whose));
  const others = [1, 2].map(() => transcribe(clip, { ...whose, tenantId: 2 }));
  await eventually('two of each are sent', () => sent === 4);
  leaving.abort(new Error('left'));
  t.is((await t.throwsAsync(left))?.message, 'left');
  gate.open();
  t.is((await Promise.all([...first, ...waiting, ...others])).length, 7);
  t.is(sent, 7);
});

test('a transcription that failed makes room for the next', async (t) => {
  const transcribe = voiceTranscriber(() => Promise.reject(unavailable('away')), 1);
  for (let i = 0; i < 5; i += 1) t.like(await t.throwsAsync(transcribe(clip, whose)), { kind: 'unavailable' });
});
