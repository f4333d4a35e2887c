import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext } from 'ava';
import { type Client, createClient, type FormattedExecutionResult } from 'graphql-ws';

export interface Subscribed {
  results: FormattedExecutionResult[];
  /** Returns `complete` or the error; undefined while the subscription runs. */
  ended: () => unknown;
  leave: () => void;
}

export interface TestSocket {
  client: Client;
  /** Returns the close code, if closed. */
  closed: () => number | undefined;
  /** Resolves when the socket has been acknowledged or closed. */
  settled: () => Promise<unknown>;
  subscribe(query: string, variables?: Record<string, unknown>): Subscribed;
}

/** Opens a graphql-ws client with one socket and no reconnection. */
export function openSocket(
  t: ExecutionContext,
  httpUrl: string,
  connectionParams: Record<string, unknown>,
): TestSocket {
  let closed: number | undefined;
  let acknowledged = false;
  const client = createClient({
    url: httpUrl.replace('http', 'ws'),
    connectionParams,
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => undefined,
    on: {
      connected: () => {
        acknowledged = true;
      },
      closed: (event) => {
        closed = (event as CloseEvent).code;
      },
    },
  });
  t.teardown(() => client.dispose());
  return {
    client,
    closed: () => closed,
    settled: () => eventually('the socket is settled', () => acknowledged || closed !== undefined),
    subscribe(query, variables) {
      const results: Subscribed['results'] = [];
      let ended: unknown;
      const leave = client.subscribe<Record<string, unknown>, Record<string, unknown>>(
        { query, variables },
        {
          next: (result) => void results.push(result),
          error: (error) => {
            ended = error;
          },
          complete: () => {
            ended = 'complete';
          },
        },
      );
      return { results, ended: () => ended, leave };
    },
  };
}

export const sessionEventsQuery = `subscription ($sessionId: ID!, $after: String) {
  sessionEvents(sessionId: $sessionId, after: $after) {
    __typename
    eventId
    sessionId
    occurredAt
    ... on AiResponseChunkEvent { clientTurnId turnIndex attempt text }
    ... on ToolCallEvent { clientTurnId turnIndex attempt callId name callStatus: status durationMs errorKind }
    ... on AiResponseEvent {
      clientTurnId turnIndex text interrupted
      message { id sessionId role text turnIndex tokensIn tokensOut costUsd modelId structuredContent createdAt updatedAt
        toolCalls { callId name status durationMs errorKind } }
    }
    ... on TurnFailedEvent { clientTurnId turnIndex code failure: message }
    ... on SessionStatusEvent { status }
  }
}`;
