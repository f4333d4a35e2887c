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
  /** The id of the last event at the time when the reader was admitted; absent if the reader gets new events only. */
  after?: string | undefined;
}

/**
 * Streams events until the reader leaves. The stream starts after the event that the reader names, else after the last event at the
 * reader's admission, else with new events.
 * @throws DomainError `forbidden`: the request id is unknown, another tenant's or expired
 * @throws DomainError `invalid`: the event id is malformed
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
      if (hasEnded) continue; // the final event may be stored twice
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
