import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import { type Api, ApiError, type GraphError } from './api.ts';

/** An event, with what a person sees of it. */
export interface SessionEvent {
  __typename: string;
  eventId: string;
  clientTurnId?: string | null;
  attempt?: number;
  text?: string;
  interrupted?: boolean;
  code?: string;
  failure?: string;
}

const query = `subscription ($sessionId: ID!, $after: String) {
  sessionEvents(sessionId: $sessionId, after: $after) {
    __typename
    eventId
    ... on AiResponseChunkEvent { clientTurnId attempt text }
    ... on AiResponseEvent { clientTurnId text interrupted }
    ... on TurnFailedEvent { clientTurnId code failure: message }
  }
}`;

/** Whatever ends a subscription. */
type Failure = Partial<GraphError> & { code?: unknown };

const mostFailures = 60; // about two minutes
/** No later attempt will do better. */
const finalCodes = ['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND'];
/** What a socket is closed with whose token has ended, as every token does: nothing to tell anybody. */
const forbiddenCloseCode = 4403;

/**
 * All events of a session from its beginning. A lost socket is opened again, with a fresh token, after the last event seen, so
 * nothing is missed and nothing comes twice.
 * @throws Error when the subscription is refused, or the connection does not come back.
 */
export async function* followSession(api: Api, sessionId: number, onLost: (reason: string) => void) {
  let after = '0';
  for (let failures = 0; failures < mostFailures; failures += 1) {
    const client = createClient({
      url: api.url.replace(/^http/u, 'ws'),
      retryAttempts: 0, // it would send the first variables again, and so the same events
      connectionParams: () => api.connectionParams(failures > 0),
    });
    try {
      const answers = client.iterate<{ sessionEvents: SessionEvent }>({ query, variables: { sessionId, after } });
      for await (const { data, errors } of answers) {
        if (errors?.[0]) throw new ApiError(errors[0].message, errors[0].extensions?.code);
        if (!data) continue;
        failures = 0;
        after = data.sessionEvents.eventId;
        yield data.sessionEvents;
      }
    } catch (error) {
      const { message, code, extensions }: Failure = [error].flat()[0] ?? {};
      const why = extensions?.code ?? code; // the contract's, or the one that the socket was closed with
      if (finalCodes.includes(String(why))) throw new Error(message, { cause: error });
      if (failures === 0 && why !== forbiddenCloseCode) onLost(message || `closed with ${why ?? 'an error'}`);
    } finally {
      void client.dispose();
    }
    await delay(Math.min(50 * 2 ** failures, 2_000));
  }
  throw new Error('The connection was lost and did not come back.');
}
