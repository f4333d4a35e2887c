import { badRequest, DomainError, unavailable } from '@parley/kernel/errors';
import { parseJson } from '@parley/kernel/json';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import type { UnitHttp, UnitHttpAnswer } from '@parley/unit/unit-http';
import { z } from 'zod';
import type { TranscribeSpeechInput, TranscribeSpeechResultDto } from '../generated/schema.ts';

/** The tenant of a clip, and the tenant's token for the voice service. */
export interface TranscribedFor {
  tenantId: number;
  token: string;
  signal: AbortSignal;
}

/** Transcribes a clip. @throws DomainError */
export type Transcriber = (clip: TranscribeSpeechInput, whose: TranscribedFor) => Promise<TranscribeSpeechResultDto>;

const transcript = z.object({
  transcript: z.string(),
  confidence: z.number().min(0).max(1),
  languageCode: z.string(),
});
const refusal = z.object({ error: z.object({ message: z.string().min(1).max(1_000) }) });

/** Statuses of the voice service that mean an invalid clip. */
const faultsOfClip = new Set([400, 413, 415]);

/**
 * Creates a transcriber that calls `/stt` of the voice service.
 * @param atOnce maximum clips in flight, at most half of them for one tenant; each clip takes up to 12 MB of memory. Twice as many clips
 * may wait; tenants are served in rotation.
 */
export function voiceTranscriber(voice: UnitHttp, atOnce: number): Transcriber {
  const queue = fairQueue({
    inFlight: atOnce,
    waiting: 2 * atOnce,
    shares: { tenant: { inFlight: Math.ceil(atOnce / 2), waiting: atOnce, label: 'transcriptions of this tenant' } },
  });
  return async (body, { tenantId, token, signal }) => {
    const release = await queue.enter({ tenant: tenantId }, () => signal);
    const answer = await voice('/stt', { method: 'POST', token, body, signal }).finally(release);
    if (answer.status !== 200) throw refusalOf(answer);
    const { success, data, error } = transcript.safeParse(jsonOf(answer));
    if (!success)
      throw unavailable('The voice service gave an answer that cannot be read; try again in a while', error);
    return data;
  };
}

/** Converts a refusal of the voice service to an error. The service's messages are safe to show to clients. */
function refusalOf(answer: UnitHttpAnswer): DomainError {
  const { status } = answer;
  const { success, data } = refusal.safeParse(jsonOf(answer));
  const cause = new Error(`voice answered with status ${status}`);
  if (faultsOfClip.has(status)) return badRequest(success ? data.error.message : 'The clip was refused');
  if (status === 429) return new DomainError('tooManyRequests', 'Too many transcriptions; try again in a minute');
  if (status === 401 || status === 403) {
    return new DomainError(
      'internal',
      "The voice service refuses session's tokens; both need the same AVATAR_TOKEN_KEYS",
      {
        cause,
      },
    );
  }
  if (status === 503 && success) return unavailable(data.error.message, cause);
  return unavailable('The voice service had a problem; try again in a while', cause);
}

function jsonOf({ body }: UnitHttpAnswer): unknown {
  return parseJson(body.toString());
}
