import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { MPEGDecoder } from 'mpg123-decoder';
import type { ClipEncoding } from '../src/speech.ts';
import { fakeProvider, json, samplesOf, voiceApp, voiceToken } from './voice-app.ts';

const english = { voiceName: 'en-us', languageCode: 'en-US' };
const sentence = 'The quick brown fox jumps over the lazy dog.';

interface Sound {
  rate: number;
  seconds: number;
  /** Root mean square, as a share of the maximum. */
  level: number;
  /** Seconds of the audio that are louder than a whisper. */
  heard: number;
}

function soundOf(samples: ArrayLike<number>, rate: number, full: number): Sound {
  let sum = 0;
  let heard = 0;
  const block = Math.round(rate / 50);
  for (let from = 0; from < samples.length; from += block) {
    let energy = 0;
    for (let i = from; i < Math.min(from + block, samples.length); i += 1) energy += ((samples[i] ?? 0) / full) ** 2;
    sum += energy;
    if (Math.sqrt(energy / block) > 0.01) heard += 0.02;
  }
  return { rate, seconds: samples.length / rate, level: Math.sqrt(sum / samples.length), heard };
}

/** Decodes with mpg123, which is independent of the encoder. @throws Error for audio with faults */
async function decodedMp3(file: Buffer): Promise<Sound> {
  const decoder = new MPEGDecoder();
  await decoder.ready;
  const { channelData, sampleRate, errors } = decoder.decode(new Uint8Array(file));
  decoder.free();
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  return soundOf(channelData[0] ?? [], sampleRate, 1);
}

function decodedWav(file: Buffer): Sound {
  const { samples, rate } = samplesOf(file);
  return soundOf(samples, rate, 32_768);
}

async function speaking(t: ExecutionContext) {
  const { ask, base } = await voiceApp(t);
  return {
    async spoken(request: object) {
      const { status, body } = await ask('/tts', { ...english, ...request });
      t.is(status, 200);
      return { audio: Buffer.from(body.audioContent, 'base64'), timepoints: body.timepoints };
    },
    async streamed(request: object) {
      const response = await fetch(`${base}/tts/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${voiceToken()}` },
        body: JSON.stringify({ ...english, ...request }),
      });
      t.is(response.status, 200);
      return Buffer.from(await response.arrayBuffer());
    },
  };
}

test('the decoded MP3 is as long and as loud as the WAV file of the same text', async (t) => {
  const { spoken } = await speaking(t);
  const mp3 = await decodedMp3((await spoken({ text: sentence })).audio);
  const wav = decodedWav((await spoken({ text: sentence, audioEncoding: 'LINEAR16' })).audio);
  t.deepEqual([mp3.rate, wav.rate], [22_050, 22_050]);
  t.true(Math.abs(mp3.seconds - wav.seconds) < 0.2, `${mp3.seconds} ${wav.seconds}`);
  for (const { level, heard, seconds } of [mp3, wav]) {
    t.true(level > 0.03 && level < 0.5, String(level));
    t.true(heard > 0.6 * seconds, `${heard} of ${seconds}`);
  }
});

test('decoded audio is longer for more text and shorter at a higher rate, and contains all marks', async (t) => {
  const { spoken } = await speaking(t);
  const seconds = async (request: object) => (await decodedMp3((await spoken(request)).audio)).heard;
  const once = await seconds({ text: sentence });
  const twice = await seconds({ text: `${sentence} ${sentence}` });
  t.true(twice > 1.7 * once && twice < 2.3 * once, `${once} ${twice}`);
  const rates = [0.5, 1, 2, 4];
  const lengths: number[] = [];
  for (const speakingRate of rates) lengths.push(await seconds({ text: sentence, speakingRate }));
  for (const [i, length] of lengths.entries())
    t.true(i === 0 || length < 0.75 * (lengths[i - 1] ?? 0), String(lengths));
  const ssml = `<speak><mark name="a"/>${sentence} <mark name="b"/>${sentence}<mark name="c"/></speak>`;
  for (const speakingRate of rates) {
    const { audio, timepoints } = await spoken({ ssml, speakingRate });
    const sound = await decodedMp3(audio);
    const times = timepoints.map(({ timeSeconds }) => timeSeconds);
    t.deepEqual(
      timepoints.map(({ markName }) => markName),
      ['a', 'b', 'c'],
    );
    t.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    t.true((times[0] ?? -1) >= 0 && (times[2] ?? Infinity) <= sound.seconds, `${times} of ${sound.seconds}`);
  }
});

test('a streamed MP3 decodes without a fault, and has as much speech as the audio of /tts', async (t) => {
  const { spoken, streamed } = await speaking(t);
  const text = `${sentence} `.repeat(12);
  const [whole, stream] = [
    await decodedMp3((await spoken({ text })).audio),
    await decodedMp3(await streamed({ text })),
  ];
  t.true(Math.abs(stream.heard - whole.heard) < 0.1 * whole.heard, `${stream.heard} ${whole.heard}`);
  t.true(stream.level > 0.03);
});

const clips: [ClipEncoding, string, number | undefined][] = [
  ['WEBM_OPUS', 'webm', undefined],
  ['OGG_OPUS', 'ogg', undefined],
  ['MP3', 'mp3', undefined],
  ['LINEAR16', 'wav', 8_000],
];
const clip = (extension: string) => readFileSync(new URL(`clips/thanks.${extension}`, import.meta.url));

for (const [audioEncoding, extension, sampleRateHertz] of clips) {
  test(`/stt accepts a ${audioEncoding} clip made by ffmpeg, and each provider gets the whole clip`, async (t) => {
    const audio = clip(extension);
    const request = { audioBase64: audio.toString('base64'), audioEncoding, languageCode: 'en-US', sampleRateHertz };
    const alternatives = [{ transcript: 'Thank you', confidence: 0.9 }];
    const google = await fakeProvider(t, json({ results: [{ alternatives }] }));
    const openai = await fakeProvider(t, json({ text: 'Thank you' }));
    for (const [provider, { url }] of Object.entries({ google, openai })) {
      const { ask } = await voiceApp(t, { STT_PROVIDER: provider, STT_URL: url });
      const { status, body } = await ask('/stt', request);
      t.is(status, 200);
      t.like(body, { transcript: 'Thank you', languageCode: 'en-US' });
    }
    t.is(JSON.parse(google.received[0]?.body ?? '').audio.content, request.audioBase64);
    t.true(openai.received[0]?.body.includes(audio.toString('latin1')));
  });
}
