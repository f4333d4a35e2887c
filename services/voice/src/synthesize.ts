import { invalid } from '@parley/kernel/errors';
import { anyText, between, parseInput, rule, text } from '@parley/kernel/input';
import { isShapeless } from '@parley/kernel/input-checks';
import { z } from 'zod';
import type { Ports } from './ports.ts';
import type { Asking, Speech, SpeechRequest } from './speech.ts';
import { longestPausesMs, pausesMs, ssmlProblem } from './ssml.ts';

const maxCharacters = 5_000;

export const voiceName = text(200);
/** A BCP 47 tag, such as `en-US`. */
export const languageCode = text(35).check(
  rule((code) =>
    /^[a-z]{2,8}([-_][a-z\d]{1,8})*$/iu.test(code) ? undefined : 'must be a language code such as en-US',
  ),
);
const speakingRate = between(0.25, 4).nullish();

const speech = z.object({
  text: anyText(maxCharacters).nullish(),
  ssml: anyText(maxCharacters).nullish(),
  voiceName,
  languageCode,
  speakingRate,
  audioEncoding: z.enum(['MP3', 'LINEAR16'], 'must be MP3 or LINEAR16').nullish(),
});

const googleSpeech = z.object({
  input: speech.pick({ text: true, ssml: true }),
  voice: z.object({ languageCode, name: voiceName }),
  audioConfig: z.object({ speakingRate }).nullish(),
});

/** Speaks a text or SSML; if both are given, the SSML. @throws DomainError `invalid` if the input is invalid; the errors of `speakFor` */
export function synthesize(ports: Ports, tenantId: number, input: unknown, asking: Asking): Promise<Speech> {
  return speakFor(ports, tenantId, readSpeechRequest(input), asking);
}

/** Validates the input of `/tts`. @throws DomainError `invalid` if it is invalid */
export function readSpeechRequest(input: unknown): SpeechRequest {
  return requestOf(parseInput(speech, input as z.input<typeof speech>, ''), '');
}

/** Validates a request in the format of Google Cloud Text-to-Speech. Other fields are ignored; the audio is MP3. */
export function synthesizeAsGoogle(ports: Ports, tenantId: number, body: unknown, asking: Asking): Promise<Speech> {
  const { input, voice, audioConfig } = parseInput(googleSpeech, body as z.input<typeof googleSpeech>, '');
  const given = { ...input, voiceName: voice.name, languageCode: voice.languageCode, ...audioConfig };
  return speakFor(ports, tenantId, requestOf(given, 'input.'), asking);
}

type Given = z.output<typeof speech> extends infer Output ? { [Key in keyof Output]?: Output[Key] } : never;

/**
 * Speaks validated input in the queue of its tenant. @throws DomainError `tooManyRequests` when the queue is full; the errors of `Speaker`
 */
export function speakFor(
  { speak, provide }: Ports,
  tenantId: number,
  request: SpeechRequest,
  asking: Asking,
): Promise<Speech> {
  return provide('tts', tenantId, asking.signal, () => speak(request, asking));
}

function requestOf(given: Given, path: string): SpeechRequest {
  return {
    utterance: utteranceOf(given, path),
    voiceName: given.voiceName ?? '',
    languageCode: given.languageCode ?? '',
    speakingRate: given.speakingRate ?? 1,
    audioEncoding: given.audioEncoding ?? 'MP3',
  };
}

function utteranceOf({ text: plain, ssml }: Given, path: string): SpeechRequest['utterance'] {
  if (ssml !== undefined && ssml !== null) {
    const problem = ssmlProblem(ssml) ?? pausesProblem(ssml);
    if (problem) throw invalid({ path: `${path}ssml`, message: problem });
    return { ssml };
  }
  if (plain === undefined || plain === null) throw invalid({ path: `${path}text`, message: 'or ssml must be given' });
  if (isShapeless(plain)) throw invalid({ path: `${path}text`, message: 'must not be blank' });
  return { text: plain };
}

function pausesProblem(ssml: string): string | undefined {
  return pausesMs(ssml) > longestPausesMs
    ? `must have at most ${longestPausesMs / 1_000} seconds of pauses together; send it in parts`
    : undefined;
}
