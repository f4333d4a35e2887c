import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import type { Api } from './api.ts';

/** The events that a person sees something of. */
export type SessionEvent = { eventId: string; clientTurnId?: string | null } & (
  | { __typename: 'AiResponseChunkEvent'; text: string; attempt: number; turnIndex: number }
  | { __typename: 'AiResponseEvent'; text: string; interrupted: boolean; turnIndex: number }
  | { __typename: 'TurnFailedEvent'; code: string; message: string; turnIndex: number }
  | { __typename: 'SessionStatusEvent'; status: string }
);

const query = `subscription ($sessionId: ID!, $after: String) {
  sessionEvents(sessionId: $sessionId, after: $after) {
    __typename
    eventId
    ... on AiResponseChunkEvent { clientTurnId turnIndex attempt text }
    ... on AiResponseEvent { clientTurnId turnIndex text interrupted }
    ... on TurnFailedEvent { clientTurnId turnIndex code failure: message }
    ... on SessionStatusEvent { status }
  }
}`;

export interface FollowOptions {
  signal: AbortSignal;
  /** Told when the socket was lost and is opened again. */
  onLost?: (reason: string) => void;
}

/** Waits between attempts to come back, in ms; the last one repeats. */
const pausesMs = [100, 250, 500, 1_000, 2_000];

/**
 * All events of a session from its beginning. A lost socket is opened again, with a fresh token, after the last event seen, so
 * nothing is missed and nothing comes twice.
 */
export async function* followSession(
  api: Api,
  sessionId: number,
  options: FollowOptions,
): AsyncGenerator<SessionEvent> {
  const { signal, onLost } = options;
  let after = '0';
  let failures = 0;
  while (!signal.aborted) {
    const client = createClient({
      url: api.url.replace(/^http/, 'ws'),
      retryAttempts: 0, // it would send the first variables again, and so the same events
      connectionParams: () => api.connectionParams(failures > 0),
    });
    const leave = () => void client.dispose();
    signal.addEventListener('abort', leave, { once: true });
    try {
      for await (const { data, errors } of client.iterate<{ sessionEvents: RawEvent }>({
        query,
        variables: { sessionId, after },
      })) {
        if (errors) throw new Error(errors[0]?.message);
        if (!data) continue;
        failures = 0;
        after = data.sessionEvents.eventId;
        yield asEvent(data.sessionEvents);
      }
      if (signal.aborted) return;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      onLost?.(reasonOf(error));
    } finally {
      signal.removeEventListener('abort', leave);
      void client.dispose();
    }
    await delay(pausesMs[Math.min(failures, pausesMs.length) - 1] ?? 100, undefined, { signal }).catch(() => undefined);
  }
}

/** `message` is a text on one type and a row on another, which one selection may not mix. */
type RawEvent = SessionEvent & { failure?: string };

function asEvent({ failure, ...event }: RawEvent): SessionEvent {
  return event.__typename === 'TurnFailedEvent' ? { ...event, message: failure ?? '' } : event;
}

function reasonOf(error: unknown): string {
  if (error instanceof CloseEvent) return `closed with ${error.code}`;
  return error instanceof Error ? error.message : 'lost';
}
