import test, { type ExecutionContext } from 'ava';
import { espeakPackage, espeakSpeaker } from '../src/providers/espeak-speaker.ts';
import { mp3Seconds, samplesOf, sessionToken, voiceApp } from './voice-app.ts';

const english = { voiceName: 'en-us+f3', languageCode: 'en-US', audioEncoding: 'LINEAR16' };
const sentence = 'The quick brown fox jumps over the lazy dog.';

async function speaking(t: ExecutionContext) {
  const app = await voiceApp(t);
  return {
    ...app,
    async wav(request: object) {
      const { status, body } = await app.ask('/tts', { ...english, ...request });
      t.is(status, 200, JSON.stringify(body).slice(0, 200));
      return { ...samplesOf(Buffer.from(body.audioContent, 'base64')), timepoints: body.timepoints };
    },
  };
}

test('a text is spoken: a longer text gives longer audio, and the audio is not silent', async (t) => {
  const { wav } = await speaking(t);
  const once = await wav({ text: sentence });
  const thrice = await wav({ text: `${sentence} ${sentence} ${sentence}` });
  t.is(once.rate, 22_050);
  t.true(once.seconds > 1 && once.seconds < 6, String(once.seconds));
  t.true(thrice.seconds > 2.5 * once.seconds);
  t.true(once.loudness > 500, String(once.loudness));
  t.deepEqual(once.timepoints, []);
});

test('speaking rates from 0.25 to 4 change the length of the audio and the times of marks', async (t) => {
  const { wav } = await speaking(t);
  const ssml = `<speak>${sentence} <mark name="half"/> ${sentence}</speak>`;
  const usual = await wav({ ssml });
  for (const speakingRate of [0.25, 0.5, 2, 4]) {
    const { seconds, timepoints, loudness } = await wav({ ssml, speakingRate });
    const factor = seconds / usual.seconds;
    t.true(factor > 0.7 / speakingRate && factor < 1.4 / speakingRate, `${speakingRate}: ${factor}`);
    t.true(loudness > 500);
    const { markName, timeSeconds = 0 } = timepoints[0] ?? {};
    t.is(markName, 'half');
    t.true(timeSeconds > 0.35 * seconds && timeSeconds < 0.65 * seconds, `${timeSeconds} of ${seconds}`);
  }
});

test('SSML takes precedence over text, and its marks have ascending times within the audio', async (t) => {
  const { wav } = await speaking(t);
  const ssml = '<speak>One <mark name="a"/> two <break time="700ms"/> three <mark name="b"/> four.</speak>';
  const { timepoints, seconds } = await wav({ ssml, text: 'ignored' });
  t.deepEqual(
    timepoints.map(({ markName }) => markName),
    ['a', 'b'],
  );
  const [a, b] = timepoints.map(({ timeSeconds }) => timeSeconds) as [number, number];
  t.true(0 < a && a + 0.7 < b && b < seconds);
});

test('names of marks are returned unchanged', async (t) => {
  const { wav } = await speaking(t);
  const { timepoints } = await wav({
    ssml: '<speak>a <mark name="0&#9731;&lt;&amp;&quot;&gt;"/> b <mark name="m0"/> c</speak>',
  });
  t.deepEqual(
    timepoints.map(({ markName }) => markName),
    ['0☃<&">', 'm0'],
  );
});

test('markup in a plain text is spoken as text, and a pause of an hour is limited to ten seconds', async (t) => {
  const { wav } = await speaking(t);
  const { timepoints } = await wav({ text: 'if a < b & c > d then <mark name="x"/>' });
  t.deepEqual(timepoints, []);
  const { seconds } = await wav({ ssml: '<speak>a<break time="3600s"/>b</speak>' });
  t.true(seconds > 9 && seconds < 13, String(seconds));
});

test('MP3 is the default, with the same duration as LINEAR16', async (t) => {
  const { ask, wav } = await speaking(t);
  const { seconds } = await wav({ text: sentence });
  const { body } = await ask('/tts', { text: sentence, voiceName: 'en-us+f3', languageCode: 'en-US' });
  const mp3 = mp3Seconds(Buffer.from(body.audioContent, 'base64'));
  t.true(Math.abs(mp3 - seconds) < 0.3, `${mp3} ${seconds}`);
});

test('/tts/google reads the fields of Google, and ignores all others', async (t) => {
  const { ask } = await speaking(t);
  const request = {
    input: { ssml: `<speak>${sentence}<mark name="end"/></speak>`, markup: 7 },
    voice: { languageCode: 'de-DE', name: 'de', ssmlGender: 'FEMALE' },
    audioConfig: { speakingRate: 2, audioEncoding: 'OGG_OPUS', pitch: 'x' },
    enableTimePointing: true,
  };
  const fast = await ask('/tts/google', request, { token: sessionToken() });
  const slow = await ask('/tts/google', { ...request, audioConfig: undefined });
  t.deepEqual([fast.status, slow.status], [200, 200]);
  const [short, long] = [fast, slow].map(({ body }) => mp3Seconds(Buffer.from(body.audioContent, 'base64')));
  t.true((long ?? 0) > 1.5 * (short ?? 0));
  t.is(fast.body.timepoints[0]?.markName, 'end');
});

test('an unknown voice is replaced by a voice of the language; without either the request is refused', async (t) => {
  const { ask, wav } = await speaking(t);
  for (const languageCode of ['en-US', 'de-DE', 'fr-FR', 'pt-BR', 'hi-IN', 'ar-SA', 'zh-CN', 'zh_TW', 'nb-NO']) {
    const { seconds } = await wav({ text: 'a b c 1 2 3', voiceName: 'Some-Neural2-F', languageCode });
    t.true(seconds > 0.3, languageCode);
  }
  const { status, body } = await ask('/tts', { text: 'a', voiceName: '../../etc/passwd', languageCode: 'xx-XX' });
  t.is(status, 400);
  t.is(body.error.message, 'voiceName and languageCode name no voice of eSpeak NG');
});

const right = { text: 'a', voiceName: 'en', languageCode: 'en' };
const refused: [object, string][] = [
  [{ ...right, text: undefined }, 'text or ssml must be given'],
  [{ ...right, text: ' ' }, 'text must not be blank'],
  [{ ...right, text: 'a'.repeat(5_001) }, 'text must have at most 5000 characters'],
  [{ ...right, text: 7 }, 'text must be text'],
  [{ ...right, ssml: '<speak>a' }, 'ssml must be well-formed XML'],
  [{ ...right, ssml: '<p>a</p>' }, 'ssml must be one speak element'],
  [{ ...right, ssml: '<!DOCTYPE speak [<!ENTITY a "b">]><speak>a</speak>' }, 'ssml must have no document type'],
  [
    { ...right, ssml: `<speak>${'a.<break time="10s"/>'.repeat(7)}</speak>` },
    'ssml must have at most 60 seconds of pauses together; send it in parts',
  ],
  [{ ...right, voiceName: undefined }, 'voiceName must be given'],
  [{ ...right, languageCode: 'English please' }, 'languageCode must be a language code such as en-US'],
  [{ ...right, speakingRate: 0.24 }, 'speakingRate must be between 0.25 and 4'],
  [{ ...right, speakingRate: 4.01 }, 'speakingRate must be between 0.25 and 4'],
  [{ ...right, speakingRate: '1' }, 'speakingRate must be of type number'],
  [{ ...right, audioEncoding: 'FLAC' }, 'audioEncoding must be MP3 or LINEAR16'],
];

test('input that cannot be spoken is refused with the problem', async (t) => {
  const { ask } = await voiceApp(t);
  for (const [request, message] of refused) {
    const { status, body } = await ask('/tts', request);
    t.deepEqual([status, body], [400, { error: { code: 'BAD_REQUEST', message } }]);
  }
  const { body } = await ask('/tts/google', { input: {}, voice: { languageCode: 'en' } });
  t.is(body.error.message, 'voice.name must be given');
});

test('without the optional package speech is unavailable, and the message names the package', async (t) => {
  const limits = { timeoutMs: 1_000, maxBytes: 1_000 };
  const { speak } = espeakSpeaker({ ...limits, isInstalled: () => false });
  const memory = { take: () => undefined, giveBack: () => undefined };
  const request = { ...english, audioEncoding: 'MP3' as const, speakingRate: 1, utterance: { text: 'a' } };
  const error = await t.throwsAsync(speak(request, { signal: AbortSignal.timeout(60_000), memory }));
  t.like(error, { kind: 'unavailable' });
  t.true(error?.message.includes(espeakPackage));
});

test('speech that would be too large is refused', async (t) => {
  const { ask } = await voiceApp(t, { VOICE_MAX_ANSWER_BYTES: '100000' });
  const { status, body } = await ask('/tts', { ...english, text: sentence.repeat(10) });
  t.deepEqual([status, body.error.message], [400, 'The speech is too long; send it in parts']);
  t.is((await ask('/tts', { ...english, text: 'Hi' })).status, 200);
});

test('concurrent texts are queued and all spoken', async (t) => {
  const { ask } = await voiceApp(t);
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/tts', { ...english, text: sentence })));
  t.true(answers.every(({ status }) => status === 200));
});
