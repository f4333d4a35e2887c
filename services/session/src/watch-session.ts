import type { TenantRequest } from '@parley/kernel/caller-request';
import { requireId } from '@parley/kernel/row-id';
import { eventPageSize, startAfter, watchEvents } from '@parley/live/subscriptions/watch-events';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { eventStore } from './event-store.ts';
import type { Ports } from './ports.ts';
import { requireOwnSession } from './require-own-session.ts';
import { sessionEventType, streamOf } from './session-log.ts';
import { sessionStore } from './session-store.ts';

export interface WatchSession {
  sessionId: string | number;
  /** The id of the last event that the subscriber has received. Without it the subscriber gets new events only. */
  after?: string | undefined;
  /** Called when the subscription is live: from then on no event is missed. */
  follows?: () => void;
}

/**
 * Streams each event once and in order, from the event log or, during an outage, the database.
 * @throws DomainError `notFound` for an unknown session; `forbidden` for another session's token; `invalid` for a malformed `after`
 */
export async function* watchSession(
  { database, eventLog, log }: Ports,
  { caller, signal }: TenantRequest,
  { sessionId: given, after, follows }: WatchSession,
): AsyncGenerator<SessionEvent> {
  const { tenantId } = caller;
  requireOwnSession(caller, given);
  const start = startAfter(after);
  const sessionId = requireId('Session', given);

  yield* watchEvents(
    {
      type: sessionEventType,
      eventLog,
      stream: streamOf({ tenantId, id: sessionId }),
      start,
      findLast: async () => {
        const session = await database.transact(tenantId, (db) => sessionStore(db).get(sessionId));
        return session.lastEventId;
      },
      findLasting: (range) =>
        database.transact(tenantId, (db) => eventStore(db).list(sessionId, { ...range, limit: eventPageSize })),
      follows,
      log,
      logFields: { sessionId },
    },
    signal,
  );
}
