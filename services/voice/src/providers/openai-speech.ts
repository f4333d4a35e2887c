import { z } from 'zod';
import { isWav, wav } from '../audio/wav.ts';
import type { ClipEncoding, ClipRequest, Listener, Speaker } from '../speech.ts';
import { textOfSsml } from '../ssml.ts';
import { jsonOf, type ProviderCall, unreadable } from './provider-call.ts';

export interface OpenAiOptions {
  url: string;
  key?: string | undefined;
  model: string;
  call: ProviderCall;
}

/** Synthesizes speech with an API like OpenAI's. The API does not support SSML, so only the text is spoken, and marks have no times. */
export function openAiSpeaker({ url, key, model, call }: OpenAiOptions): Speaker {
  return async ({ utterance, voiceName, speakingRate, audioEncoding }, asking) => {
    const body = JSON.stringify({
      model,
      input: 'ssml' in utterance ? textOfSsml(utterance.ssml) : utterance.text,
      voice: voiceName,
      speed: speakingRate,
      response_format: audioEncoding === 'MP3' ? 'mp3' : 'wav',
    });
    const headers = { 'content-type': 'application/json', ...bearer(key) };
    const audio = await call(`${url}/audio/speech`, { headers, body, isClientFault }, asking);
    return { audio, timepoints: [] };
  };
}

const fileNames: Record<ClipEncoding, string> = {
  MP3: 'clip.mp3',
  LINEAR16: 'clip.wav',
  WEBM_OPUS: 'clip.webm',
  OGG_OPUS: 'clip.ogg',
};

const answerShape = z.object({
  text: z.string().max(100_000),
  segments: z.array(z.object({ avg_logprob: z.number().optional() })).default([]),
});

/**
 * Transcribes with an API like OpenAI's. Confidence is the mean probability of the tokens, or 0 if the API does not return probabilities.
 */
export function openAiListener({ url, key, model, call }: OpenAiOptions): Listener {
  return async (request, asking) => {
    const { audioEncoding, languageCode } = request;
    const body = new FormData();
    body.set('file', new Blob([new Uint8Array(fileOf(request))]), fileNames[audioEncoding]);
    body.set('model', model);
    body.set('language', languageCode.split(/[-_]/u)[0]?.toLowerCase() ?? languageCode);
    body.set('response_format', 'verbose_json');
    const answer = await call(`${url}/audio/transcriptions`, { headers: bearer(key), body, isClientFault }, asking);
    const read = answerShape.safeParse(jsonOf('speech provider', answer));
    if (!read.success) throw unreadable('speech provider', read.error);
    const { text, segments } = read.data;
    const logs = segments.flatMap(({ avg_logprob }) => avg_logprob ?? []);
    const mean = logs.reduce((sum, each) => sum + each, 0) / logs.length;
    return {
      transcript: text.trim(),
      confidence: logs.length === 0 ? 0 : Math.min(1, Math.exp(mean)),
      languageCode,
    };
  };
}

const refusalShape = z.object({
  error: z.object({
    type: z.literal('invalid_request_error'),
    param: z.string().nullish(),
    code: z.unknown().optional(),
  }),
});

/**
 * Reports whether a refusal is the client's fault. `invalid_request_error` is the client's fault, unless it concerns the model or the key.
 */
function isClientFault(refusal: unknown): boolean {
  const read = refusalShape.safeParse(refusal);
  if (!read.success) return false;
  const { param, code } = read.data.error;
  return param !== 'model' && !/model|key/u.test(String(code));
}

/** Adds a WAV header to raw PCM, because the API accepts only files. */
function fileOf({ audio, audioEncoding, sampleRateHertz }: ClipRequest): Buffer {
  return audioEncoding === 'LINEAR16' && !isWav(audio) ? wav(audio, sampleRateHertz) : audio;
}

function bearer(key: string | undefined): Record<string, string> {
  return key ? { authorization: `Bearer ${key}` } : {};
}
