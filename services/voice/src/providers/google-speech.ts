import { z } from 'zod';
import type { Listener, Speaker } from '../speech.ts';
import { jsonOf, type ProviderCall, unreadable } from './provider-call.ts';

export interface GoogleOptions {
  url?: string | undefined;
  key?: string | undefined;
  call: ProviderCall;
}

const speechAnswer = z.object({
  audioContent: z.string(),
  timepoints: z
    .array(z.object({ markName: z.string().max(5_000), timeSeconds: z.number().min(0).default(0) }))
    .max(1_000)
    .default([]),
});

/** Synthesizes speech with an API like Google Cloud Text-to-Speech (v1beta1, which returns the times of marks). */
export function googleSpeaker({ url = 'https://texttospeech.googleapis.com', key, call }: GoogleOptions): Speaker {
  return async ({ utterance, voiceName, languageCode, speakingRate, audioEncoding }, asking) => {
    const body = JSON.stringify({
      input: utterance,
      voice: { languageCode, name: voiceName },
      audioConfig: { audioEncoding, speakingRate },
      enableTimePointing: ['SSML_MARK'],
    });
    const answer = await call(
      `${url}/v1beta1/text:synthesize`,
      { headers: headersOf(key), body, isClientFault },
      asking,
    );
    const read = speechAnswer.safeParse(jsonOf('speech provider', answer));
    if (!read.success) throw unreadable('speech provider', read.error);
    const { audioContent, timepoints } = read.data;
    const audio = Buffer.from(audioContent, 'base64');
    asking.memory.giveBack(answer.length - audio.length);
    return { audio, timepoints };
  };
}

const clipAnswer = z.object({
  error: z.unknown().optional(),
  audioContent: z.unknown().optional(),
  results: z
    .array(
      z.object({
        alternatives: z
          .array(
            z.object({
              transcript: z.string().max(100_000).default(''),
              confidence: z.number().min(0).max(1).default(0),
            }),
          )
          .default([]),
        languageCode: z.string().optional(),
      }),
    )
    .default([]),
});

/** Transcribes with an API like Google Cloud Speech-to-Text (v1p1beta1, which accepts MP3). */
export function googleListener({ url = 'https://speech.googleapis.com', key, call }: GoogleOptions): Listener {
  return async ({ audio, audioEncoding, languageCode, sampleRateHertz }, asking) => {
    const body = JSON.stringify({
      config: { encoding: audioEncoding, sampleRateHertz, languageCode, enableAutomaticPunctuation: true },
      audio: { content: audio.toString('base64') },
    });
    const answer = await call(
      `${url}/v1p1beta1/speech:recognize`,
      { headers: headersOf(key), body, isClientFault },
      asking,
    );
    const read = clipAnswer.safeParse(jsonOf('speech provider', answer));
    if (!read.success) throw unreadable('speech provider', read.error);
    // Silence is a response without results. If such a response has other content, e.g. an error with status 200, it is not a transcript.
    const isOther =
      read.data.results.length === 0 && (read.data.error !== undefined || read.data.audioContent !== undefined);
    if (isOther) throw unreadable('speech provider', new Error('the answer is no transcript'));
    const best = read.data.results.flatMap(({ alternatives }) => alternatives.slice(0, 1));
    const sum = best.reduce((total, { confidence }) => total + confidence, 0);
    return {
      transcript: best.map(({ transcript }) => transcript.trim()).join(' '),
      confidence: best.length === 0 ? 0 : sum / best.length,
      languageCode: read.data.results[0]?.languageCode ?? languageCode,
    };
  };
}

const refusalShape = z.object({
  error: z.object({
    status: z.literal('INVALID_ARGUMENT'),
    details: z.array(z.object({ reason: z.unknown().optional() })).default([]),
  }),
});

/**
 * Reports whether a refusal is the client's fault. `INVALID_ARGUMENT` is the client's fault if it has no reason. Reasons such as
 * `API_KEY_INVALID` concern keys, projects or billing.
 */
function isClientFault(refusal: unknown): boolean {
  const read = refusalShape.safeParse(refusal);
  return read.success && read.data.error.details.every(({ reason }) => reason === undefined);
}

function headersOf(key: string | undefined): Record<string, string> {
  return { 'content-type': 'application/json', ...(key && { 'x-goog-api-key': key }) };
}
