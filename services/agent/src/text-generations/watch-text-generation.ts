import type { TenantRequest } from '@parley/kernel/caller-request';
import { forbidden } from '@parley/kernel/errors';
import type { SubscriptionCall } from '@parley/live/subscriptions/subscription-rpc';
import { startAfter } from '@parley/live/subscriptions/watch-events';
import { TextGenerationLogEntry } from '@parley/protos/parley/agent/v1/event_log';
import type { FinishReason, TextGenerationEventDto } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { streamOf } from './text-generation-log.ts';
import { textGenerationStore } from './text-generation-store.ts';

export interface TextGenerationEvent {
  eventId: string;
  payload: TextGenerationEventDto;
  isLast: boolean;
}

export interface WatchTextGeneration extends Pick<SubscriptionCall, 'follows' | 'afterEventId'> {
  requestId: string;
  /** The last event id that a new reader has; absent for new events only. */
  after?: string | undefined;
}

/**
 * From now on, or after an event: that which the reader names, or the last one of a reader that was admitted before; until it leaves.
 * @throws DomainError `forbidden` for a request of nobody, of others, or too old; `invalid` for a malformed id
 */
export async function* watchTextGeneration(
  { database, eventLog }: Ports,
  { caller, signal }: TenantRequest,
  { requestId, follows, after, afterEventId }: WatchTextGeneration,
): AsyncGenerator<TextGenerationEvent> {
  const { tenantId } = caller;
  const start = startAfter(afterEventId ?? after);
  const isValid =
    afterEventId !== undefined || (await database.read(tenantId, (db) => textGenerationStore(db).isValid(requestId)));
  if (!isValid) throw forbidden('This text generation is not yours, or older than ten minutes');
  const batches = await eventLog.tail(streamOf({ tenantId, requestId }), { after: start ?? 'now' }, signal);
  follows({ resumes: true });
  let hasEnded = false;
  for await (const batch of batches) {
    for (const { id, data } of batch) {
      if (hasEnded) continue; // an end that was stored twice
      const { text, end } = TextGenerationLogEntry.decode(data);
      hasEnded = end !== undefined;
      const { providerId, modelId, error, finishReason } = end ?? {};
      const payload = {
        requestId,
        eventId: id,
        text,
        done: end !== undefined,
        providerId: providerId || null,
        modelId: modelId || null,
        error: error || null,
        finishReason: (finishReason || null) as FinishReason | null,
      };
      yield { eventId: id, payload, isLast: payload.done };
    }
  }
}
