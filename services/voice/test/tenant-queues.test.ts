import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { fakeProvider, json, mp3Of, voiceApp, voiceToken } from './voice-app.ts';

const english = { voiceName: 'en-us', languageCode: 'en-US' };

test('eSpeak NG: texts of one tenant do not delay those of another', async (t) => {
  const { ask, metrics } = await voiceApp(t);
  let done = 0;
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(8);
  const many = Array.from({ length: 16 }, async () => {
    const { status } = await ask('/tts', { ...english, text });
    done += 1;
    return status;
  });
  await eventually('most of them wait', async () => {
    const [, waiting] = /parley_voice_calls_waiting\{[^}]*\} (\d+)/u.exec(await metrics()) ?? [];
    return Number(waiting) > 10;
  });
  const other = await ask('/tts', { ...english, text: 'Hello.' }, { token: voiceToken(2) });
  t.is(other.status, 200);
  t.true(done < 9, `${done} of the other tenant were first`);
  t.deepEqual(
    await Promise.all(many),
    many.map(() => 200),
  );
});

test('slow calls of one kind do not delay calls of another kind', async (t) => {
  const gate = createGate();
  const speech = await fakeProvider(t, async (_, response) => {
    await gate.pass();
    response.end(mp3Of('spoken'));
  });
  const transcription = await fakeProvider(t, json({}));
  const { ask } = await voiceApp(t, {
    TTS_PROVIDER: 'openai',
    TTS_URL: speech.url,
    STT_PROVIDER: 'google',
    STT_URL: transcription.url,
    VOICE_CALLS_AT_ONCE: '2',
    VOICE_CALLS_PER_TENANT: '2',
  });
  const slow = Array.from({ length: 3 }, () => ask('/tts', { ...english, text: 'a' }));
  await eventually('all calls of speech are taken', () => speech.received.length === 2);
  const clip = { audioBase64: 'aaaa', audioEncoding: 'MP3', languageCode: 'en' };
  const signal = AbortSignal.timeout(60_000);
  t.is((await ask('/stt', clip, { signal })).status, 200);
  t.is(speech.received.length, 2);
  gate.open();
  for (const each of await Promise.all(slow)) t.is(each.status, 200);
});
