import { randomUUID } from 'node:crypto';
import type { Api } from '@parley/scripts/talk/api';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { post } from './post.ts';
import { textOf } from './text-of.ts';

const subscription = `subscription ($sessionId: ID!) { sessionEvents(sessionId: $sessionId, after: "0") {
  __typename ... on AiResponseChunkEvent { clientTurnId text } ... on AiResponseEvent { clientTurnId }
  ... on TurnFailedEvent { clientTurnId code } ... on SessionStatusEvent { status } } }`;
const send = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';

interface Event {
  __typename: string;
  clientTurnId?: string | null;
  code?: string;
}

/** Somebody with a session and an open socket. */
export interface Talker {
  readonly sessionId: number;
  /** Sends a message and waits for the end of its turn; answers when its first chunk came, in ms since before the send. */
  firstChunkMs(text: string): Promise<number>;
  close(): Promise<void>;
}

export async function openTalker(api: Api, agentId: number): Promise<Talker> {
  const start = 'mutation ($input: StartSessionInput!) { startSession(input: $input) { id } }';
  const { startSession } = await api.call<{ startSession: { id: number } }>(start, {
    input: { agentId, clientExternalId: `bench-${randomUUID()}` },
  });
  const sessionId = startSession.id;
  const headers = await api.connectionParams();
  const client = createClient({
    url: api.url.replace(/^http/u, 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: headers,
  });
  let turn: { id: string; firstAt: number; end: PromiseWithResolvers<void> } | undefined;
  const gone = (reason: unknown) => turn?.end.reject(new Error('The subscription ended', { cause: reason }));
  client.subscribe<{ sessionEvents: Event }>(
    { query: subscription, variables: { sessionId } },
    {
      next({ data }) {
        const event = data?.sessionEvents;
        if (!event || !turn || event.clientTurnId !== turn.id) return;
        if (event.__typename === 'AiResponseChunkEvent') turn.firstAt ||= performance.now();
        else if (event.__typename === 'AiResponseEvent') turn.end.resolve();
        else turn.end.reject(new Error(`A turn failed: ${event.code}`));
      },
      error: gone,
      complete: () => gone('complete'),
    },
  );

  return {
    sessionId,
    async firstChunkMs(text) {
      turn = { id: randomUUID(), firstAt: 0, end: Promise.withResolvers() };
      const variables = { input: { sessionId, text, clientTurnId: turn.id } };
      const before = performance.now();
      const [answer] = await Promise.all([
        post(api.url, { query: send, variables }, headers).then(textOf),
        turn.end.promise,
      ]);
      if (answer.includes('"errors"')) throw new Error(`sendMessage failed: ${answer}`);
      return turn.firstAt - before;
    },
    async close() {
      turn = undefined;
      await client.dispose();
    },
  };
}
