import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import { createLogger } from '@parley/kernel/telemetry/log';
import { eventually } from '@parley/testing/eventually';
import { testDependencies } from '@parley/testing/service-harness';
import { voice } from '@parley/voice';
import { readVoiceConfig } from '@parley/voice/config';
import type { ExecutionContext } from 'ava';
import { root } from '../root.ts';
import { testWith } from '../testing/test-with.ts';
import { whisper, whisperFolder } from './whisper.ts';

const earTest = await testWith(whisper);
const earTestAlone = 'serial' in earTest ? earTest.serial : earTest;

const sentences = [
  'Please open the window and turn on the light.',
  'What is the weather like in London today?',
  'Thank you very much for your help.',
  'The children are playing football in the garden.',
  'Could you please repeat the last question?',
  'There is a problem with my account.',
  'The meeting has been moved to Thursday afternoon.',
];

interface Heard {
  transcript: string;
  confidence: number;
  languageCode: string;
}

async function listening(t: ExecutionContext, env: Record<string, string> = {}) {
  const ring = [{ id: 'k1', key: randomBytes(32) }] as const;
  const dependencies = testDependencies({});
  const config = readVoiceConfig({
    VOICE_PORT: '0',
    AVATAR_TOKEN_KEYS: `k1:${ring[0].key.toString('base64')}`,
    TRUSTED_PROXIES: '127.0.0.1',
    STT_PROVIDER: 'whisper',
    VOICE_WHISPER_FOLDER: whisperFolder,
    VOICE_PROVIDER_TIMEOUT_MS: '120000',
    ...env,
  });
  const unit = voice.unit(config, dependencies, { log: createLogger('voice', { LOG_LEVEL: 'silent' }) });
  await unit.start();
  t.teardown(() => unit.stop());
  const base = dependencies.addresses.of('voice', 'public');
  const { token } = createSessionTokens(ring).mint({ audience: 'voice', tenantId: 1 });
  let address = 0;

  async function ask(path: string, body: object, signal?: AbortSignal): Promise<{ status: number; body: unknown }> {
    address += 1;
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-forwarded-for': `203.0.113.${address}`,
      },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
    return { status: response.status, body: await response.json() };
  }

  async function hear(clip: Buffer, audioEncoding: string, more: object = {}): Promise<Heard> {
    const request = { audioBase64: clip.toString('base64'), audioEncoding, languageCode: 'en-US', ...more };
    const { status, body } = await ask('/stt', request);
    t.is(status, 200, JSON.stringify(body));
    return body as Heard;
  }
  return { ask, hear };
}

const wordsOf = (text: string) => text.toLowerCase().match(/[a-z']+/gu) ?? [];

earTest('Whisper transcribes most words of eSpeak NG correctly', async (t) => {
  t.timeout(600_000);
  const { ask, hear } = await listening(t);
  let said = 0;
  let right = 0;
  for (const text of sentences) {
    const speech = { text, voiceName: 'en-us', languageCode: 'en-US', speakingRate: 0.85 };
    const { body } = await ask('/tts', speech);
    const audio = Buffer.from((body as { audioContent: string }).audioContent, 'base64');
    const { transcript, confidence, languageCode } = await hear(audio, 'MP3');
    t.is(languageCode, 'en-US');
    t.true(confidence > 0.3 && confidence <= 1, String(confidence));
    const heard = new Set(wordsOf(transcript));
    said += wordsOf(text).length;
    right += wordsOf(text).filter((word) => heard.has(word)).length;
    t.log(`${text} → ${transcript}`);
  }
  t.true(right > 0.7 * said, `${right} of ${said}`);
});

const clip = (extension: string) => readFileSync(join(root, 'services/voice/test/clips', `thanks.${extension}`));

earTest('all encodings are accepted, including PCM without a header', async (t) => {
  t.timeout(600_000);
  const { hear } = await listening(t);
  const clips: [string, Buffer, object?][] = [
    ['WEBM_OPUS', clip('webm')],
    ['OGG_OPUS', clip('ogg')],
    ['MP3', clip('mp3')],
    ['LINEAR16', clip('wav')],
    ['LINEAR16', clip('wav').subarray(44), { sampleRateHertz: 8_000 }],
  ];
  for (const [encoding, audio, more] of clips) {
    const { transcript } = await hear(audio, encoding, more);
    t.regex(transcript, /thank you/iu, encoding);
  }
});

earTest('silence has an empty transcript; invalid audio, long clips and other languages are refused', async (t) => {
  t.timeout(600_000);
  const { ask, hear } = await listening(t);
  t.is((await hear(Buffer.alloc(96_000), 'LINEAR16')).transcript, '');
  const message = async (audio: Buffer, audioEncoding: string, languageCode = 'en') => {
    const { status, body } = await ask('/stt', { audioBase64: audio.toString('base64'), audioEncoding, languageCode });
    t.is(status, 400, audioEncoding);
    return (body as { error: { message: string } }).error.message;
  };
  const unreadable = 'The clip cannot be read as audio of audioEncoding';
  t.is(await message(randomBytes(5_000), 'OGG_OPUS'), unreadable);
  t.is(await message(clip('webm'), 'MP3'), unreadable);
  t.is(await message(clip('ogg').subarray(0, 60), 'OGG_OPUS'), unreadable);
  t.is(await message(Buffer.alloc(32_000 * 91), 'LINEAR16'), 'The clip is longer than 90 seconds; send it in parts');
  t.regex(await message(clip('mp3'), 'MP3', 'de-DE'), /must be English/u);
});

earTest('a transcription that takes too long is cancelled and unavailable', async (t) => {
  const { ask } = await listening(t, { VOICE_PROVIDER_TIMEOUT_MS: '20' });
  const request = { audioBase64: clip('mp3').toString('base64'), audioEncoding: 'MP3', languageCode: 'en' };
  t.is((await ask('/stt', request)).status, 503);
});

/** A process that transcribes, and its peak memory in MB. */
interface Ear {
  pid: number;
  peakMb: number;
}

/** Returns the transcribing processes that this process has started. */
function ears(): Ear[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('whisper.py')) return [];
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const number = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'mu').exec(status)?.[1] ?? 0);
      return number('PPid') === process.pid ? [{ pid, peakMb: number('VmHWM') / 1_024 }] : [];
    } catch {
      return []; // the process has ended
    }
  });
}

// The test is serial, so that all transcribing processes are its own.
earTestAlone('a client that disconnects during a clip ends its process, and the next client is served', async (t) => {
  t.timeout(600_000);
  const { ask, hear } = await listening(t);
  const minute = Buffer.concat([clip('wav'), ...Array.from({ length: 25 }, () => clip('wav').subarray(44))]);
  const samples = minute.subarray(44, 44 + 16_000 * 60); // 60 s at 8 kHz, 2 bytes per sample
  const request = {
    audioBase64: samples.toString('base64'),
    audioEncoding: 'LINEAR16',
    languageCode: 'en',
    sampleRateHertz: 8_000,
  };
  const client = new AbortController();
  const left = t.throwsAsync(ask('/stt', request, client.signal));
  const patience = { timeoutMs: 240_000 };
  // Python and its libraries need less than 150 MB; with the model, a process needs more.
  const ear = await eventually('Whisper is at work', () => ears().find(({ peakMb }) => peakMb > 150), patience);
  t.log(`${Math.round(ear.peakMb)} MB when the client leaves`);
  client.abort();
  await left;
  await eventually('its process has ended', () => ears().every(({ pid }) => pid !== ear.pid), patience);

  let peakMb = 0;
  const heard = hear(clip('mp3'), 'MP3');
  let isDone = false;
  void heard.finally(() => (isDone = true)).catch(() => undefined);
  await eventually(
    'the next clip is heard',
    () => {
      peakMb = Math.max(peakMb, ...ears().map((each) => each.peakMb));
      return isDone;
    },
    patience,
  );
  t.regex((await heard).transcript, /thank you/iu);
  t.log(`${Math.round(peakMb)} MB at most for a clip of a sentence`);
  t.true(peakMb > 50 && peakMb < 1_000, `${peakMb} MB`);
});
