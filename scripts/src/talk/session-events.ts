import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import { type Api, ApiError } from './api.ts';

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
  /** How long to try to come back before giving up. Default 2 min. */
  giveUpAfterMs?: number;
}

/** Waits between attempts to come back, in ms; the last one repeats. */
const pausesMs = [0, 100, 250, 500, 1_000, 2_000];

/** What a socket is closed with whose token has ended, as every token does: nothing to tell anybody. */
const forbiddenCloseCode = 4403;

/**
 * All events of a session from its beginning. A lost socket is opened again, with a fresh token, after the last event seen, so
 * nothing is missed and nothing comes twice.
 * @throws ApiError when the subscription is refused, Error when the connection does not come back.
 */
export async function* followSession(
  api: Api,
  sessionId: number,
  { signal, onLost, giveUpAfterMs = 120_000 }: FollowOptions,
): AsyncGenerator<SessionEvent> {
  let after = '0';
  let failures = 0;
  let lostAtMs: number | undefined;
  while (!signal.aborted) {
    const connected = () => {
      lostAtMs = undefined;
    };
    try {
      for await (const event of subscribe(api, { sessionId, after }, { fresh: failures > 0, signal, connected })) {
        failures = 0;
        after = event.eventId;
        yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && !isPassing(error)) throw error;
      if (failures === 0 && !hasTokenEnded(error)) onLost?.(reasonOf(error));
    }
    lostAtMs ??= performance.now();
    if (performance.now() - lostAtMs > giveUpAfterMs) throw new Error('The connection was lost and did not come back.');
    await delay(pausesMs[Math.min(failures, pausesMs.length - 1)], undefined, { signal }).catch(() => undefined);
    failures += 1;
  }
}

interface Connecting {
  /** Whether a fresh token is asked for. */
  fresh: boolean;
  signal: AbortSignal;
  connected: () => void;
}

/** One socket with one subscription. @throws what ended it: an ApiError, or whatever closed the socket. */
async function* subscribe(
  api: Api,
  variables: { sessionId: number; after: string },
  { fresh, signal, connected }: Connecting,
): AsyncGenerator<SessionEvent> {
  const client = createClient({
    url: api.url.replace(/^http/u, 'ws'),
    retryAttempts: 0, // it would send the first variables again, and so the same events
    connectionParams: () => api.connectionParams(fresh),
    on: { connected },
  });
  const leave = () => void client.dispose();
  signal.addEventListener('abort', leave, { once: true });
  try {
    for await (const { data, errors } of client.iterate<{ sessionEvents: RawEvent }>({ query, variables })) {
      if (errors) throw asApiError(errors);
      if (data) yield asEvent(data.sessionEvents);
    }
  } catch (error) {
    throw Array.isArray(error) ? asApiError(error) : error;
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}

/** `message` is a text on one type and a row on another, which one selection may not mix. */
type RawEvent = SessionEvent & { failure?: string };

function asEvent({ failure, ...event }: RawEvent): SessionEvent {
  return event.__typename === 'TurnFailedEvent' ? { ...event, message: failure ?? '' } : event;
}

function asApiError([first]: readonly { message: string; extensions?: { code?: unknown } }[]): ApiError {
  return new ApiError(first?.message ?? 'The subscription failed', String(first?.extensions?.code ?? 'UNKNOWN'));
}

/** Whether the same subscription may well succeed later: the mesh is restarting, or the token has ended. */
function isPassing({ code }: ApiError): boolean {
  return ['UNREACHABLE', 'UNAUTHENTICATED', 'UNAVAILABLE', 'INTERNAL', 'TOO_MANY_REQUESTS'].includes(code);
}

function hasTokenEnded(error: unknown): boolean {
  return error instanceof CloseEvent && error.code === forbiddenCloseCode;
}

function reasonOf(error: unknown): string {
  if (error instanceof CloseEvent) return `closed with ${error.code}`;
  return error instanceof Error ? error.message : 'no reason given';
}
