import { performTasks } from '@parley/kernel/processes/perform-tasks';
import { createMp3Encoder } from 'wasm-media-encoders';
import { stretch } from '../audio/stretch.ts';
import { wav } from '../audio/wav.ts';
import type { SpeechTask, SpeechTaskAnswer } from './espeak-task.ts';

// Runs in the process that `espeak-speaker.ts` starts: eSpeak NG is loaded here and nowhere else.

interface SynthesisEvent {
  type: string;
  /** The event's position in the audio, in ms. */
  audio_position: number;
  id?: string;
}

interface EspeakWorker {
  rate: number;
  readonly samplerate: number;
  /** @returns 0 if the voice exists */
  set_voice(name: string): number;
  /** Synthesizes SSML. @param take gets the samples and events; returns true to stop the synthesis */
  synthesize(ssml: string, take: (samples: Int16Array | null, events: SynthesisEvent[]) => boolean): void;
}

/** Words per minute at the usual rate. */
const usualRate = 175;
/** Lowest rate that eSpeak NG supports, in words per minute. */
const lowestRate = 80;
/** Highest rate that eSpeak NG supports, in words per minute. */
const highestRate = 450;

/** Languages for which eSpeak NG uses another code. */
const otherNames: Record<string, string> = { zh: 'cmn', no: 'nb' };

// The package name has the type `string`, so that the compiler does not require the optional package.
const espeakPackage: string = '@echogarden/espeak-ng-emscripten';
const { default: load } = await import(espeakPackage);
const { eSpeakNGWorker: Worker } = await load();
const espeak: EspeakWorker = new Worker();
const encoder = await createMp3Encoder();

performTasks((task: SpeechTask): SpeechTaskAnswer => {
  const { ssml, speakingRate, audioEncoding, maxPcmBytes } = task;
  if (!candidates(task).some((name) => espeak.set_voice(name) === 0)) return { problem: 'noVoice' };
  const wanted = usualRate * speakingRate;
  const rate = Math.round(Math.min(highestRate, Math.max(lowestRate, wanted)));
  espeak.rate = rate;
  const factor = rate === Math.round(wanted) ? 1 : rate / wanted;
  const maxSamples = maxPcmBytes / 2 / factor;
  const chunks: Int16Array[] = [];
  const marks: SynthesisEvent[] = [];
  let samples = 0;
  espeak.synthesize(ssml, (chunk, events) => {
    if (chunk) chunks.push(chunk);
    samples += chunk?.length ?? 0;
    marks.push(...events.filter(({ type }) => type === 'mark'));
    return samples > maxSamples;
  });
  if (samples > maxSamples) return { problem: 'tooLong' };
  const { samplerate } = espeak;
  const pcm = stretch(joined(chunks, samples), samplerate, factor);
  const seconds = pcm.length / samplerate;
  const timepoints = marks.map(({ id = '', audio_position }) => ({
    markName: id,
    timeSeconds: Math.min(seconds, (audio_position / 1_000) * factor),
  }));
  const audio = audioEncoding === 'MP3' ? mp3(pcm, samplerate) : wav(Buffer.from(pcm.buffer), samplerate);
  return { audio, timepoints };
});

/** Returns the names of suitable voices, best first. If a variant is requested, names with the variant (`+f3`) come first. */
function candidates({ voiceName, languageCode }: SpeechTask): string[] {
  const [voice = '', variant] = voiceName.split('+', 2);
  const language = languageCode.replaceAll('_', '-').toLowerCase();
  const primary = language.split('-', 1)[0] ?? language;
  const names = [voice.toLowerCase(), language, otherNames[primary] ?? primary];
  const safe = names.filter((name) => /^[a-z][a-z\d-]{0,40}$/u.test(name));
  return variant && /^[a-z\d]{1,20}$/iu.test(variant) ? [...safe.map((name) => `${name}+${variant}`), ...safe] : safe;
}

function joined(chunks: Int16Array[], length: number): Int16Array {
  const all = new Int16Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function mp3(pcm: Int16Array, sampleRate: number): Buffer {
  encoder.configure({ sampleRate, channels: 1, bitrate: 64 });
  const parts: Buffer[] = [];
  const block = 65_536;
  for (let at = 0; at < pcm.length; at += block) {
    const samples = Float32Array.from(pcm.subarray(at, at + block), (sample) => sample / 32_768);
    parts.push(Buffer.from(encoder.encode([samples])));
  }
  parts.push(Buffer.from(encoder.finalize()));
  return Buffer.concat(parts);
}
