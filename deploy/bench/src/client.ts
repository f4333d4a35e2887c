import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { Client } from '@parley/stories/client';
import { startSession } from '@parley/stories/conversation';
import { sessionEventsDocument } from '@parley/stories/session-events';
import { WebSocket } from 'ws';
import { atOnce } from './figures.ts';

const agent = new Agent({ keepAlive: true });

/** Posts JSON over a kept connection and answers as soon as the headers are there: as little of the client as can be. */
function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const bytes = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const length = { 'content-type': 'application/json', 'content-length': bytes.length };
    const sent = request(url, { method: 'POST', agent, headers: { ...length, ...headers } }, resolve);
    sent.on('error', reject);
    sent.end(bytes);
  });
}

/** Closes the connections that are kept. */
export function closeConnections(): void {
  agent.destroy();
}

/** Sends one operation; answers the body and how long it took. */
export async function ask(url: string, token: string, query: string, variables: object) {
  const before = performance.now();
  const answer = await textOf(await post(url, { query, variables }, credentialsOf(token)));
  return { answer, tookMs: performance.now() - before };
}

/** How long this process waits for the model server's first chunk when it asks by itself: what any client would wait. */
export async function modelFirstChunkMs(modelUrl: string, content: string): Promise<number> {
  const before = performance.now();
  const body = { model: 'bench', stream: true, messages: [{ role: 'user', content }] };
  const response = await post(`${modelUrl}/chat/completions`, body);
  let firstMs = Number.NaN;
  let head = '';
  for await (const piece of response.setEncoding('utf8')) {
    if (!Number.isNaN(firstMs)) continue; // the rest is read, so that the connection can be used again
    head += piece as string;
    if (/"content":"[^"]/u.test(head)) firstMs = performance.now() - before;
  }
  return firstMs;
}

const credentialsOf = (token: string) => ({ 'x-app-platform': 'customer', authorization: `Bearer ${token}` });

/** A socket that is acknowledged, with its subscription on the way where there is one. */
async function openSocket(
  url: string,
  token: string,
  subscription: object | undefined,
  hear: (message: Buffer) => void,
) {
  const socket = new WebSocket(url.replace(/^http/u, 'ws'), 'graphql-transport-ws');
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: credentialsOf(token) }));
  await once(socket, 'message');
  socket.on('message', hear);
  if (subscription) socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: subscription }));
  return socket;
}

async function closeSocket(socket: WebSocket): Promise<void> {
  const closed = once(socket, 'close');
  socket.close();
  await closed;
}

/** What readers ask for. */
const chunkSubscription = `subscription ($sessionId: ID!) {
  sessionEvents(sessionId: $sessionId) {
    __typename eventId sessionId occurredAt
    ... on AiResponseChunkEvent { clientTurnId turnIndex attempt text }
  }
}`;

export type Readers = Awaited<ReturnType<typeof openReaders>>;

/** Many open sockets, which count what they get and read nothing of it. Without a session they subscribe to nothing. */
export async function openReaders(url: string, token: string, count: number, sessionId?: number) {
  let received = 0;
  let wanted: { at: number; resolve: () => void } | undefined;
  const subscription = sessionId
    ? { query: chunkSubscription, variables: { sessionId: String(sessionId) } }
    : undefined;
  const hear = () => {
    received += 1;
    if (wanted && received >= wanted.at) wanted.resolve();
  };
  const open: WebSocket[] = [];
  while (open.length < count) {
    const next = Math.min(25, count - open.length);
    open.push(...(await atOnce(next, () => openSocket(url, token, subscription, hear))));
  }
  return {
    /** How many events have come over all of them together. */
    count: () => received,
    /** Resolves when so many more have come. */
    async received(events: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      wanted = { at: received + events, resolve };
      await promise;
    },
    close: () => Promise.all(open.map(closeSocket)),
  };
}

export type Talker = Awaited<ReturnType<typeof openTalker>>;

/** Somebody with a session and an open socket. */
export async function openTalker(person: Client, agentId: number) {
  const { id: sessionId } = await startSession(person, agentId);
  const { url } = person;
  const token = person.tokens?.accessToken ?? '';
  let turn: { id: string; firstAt: number; end: PromiseWithResolvers<void> } | undefined;
  const subscription = { query: sessionEventsDocument, variables: { sessionId: String(sessionId), after: '0' } };
  const socket = await openSocket(url, token, subscription, (message) => {
    const text = message.toString();
    if (!turn || !text.includes(turn.id)) return;
    if (text.includes('"AiResponseChunkEvent"')) turn.firstAt ||= performance.now();
    else if (text.includes('"AiResponseEvent"')) turn.end.resolve();
    else turn.end.reject(new Error(`A turn failed: ${text}`));
  });
  socket.on('close', () => turn?.end.reject(new Error('The socket was closed')));
  const query = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
  return {
    sessionId,
    /** Sends a message and waits for the end of its turn; answers when its first chunk came, in ms since before the send. */
    async firstChunkMs(content: string): Promise<number> {
      turn = { id: randomUUID(), firstAt: 0, end: Promise.withResolvers() };
      const variables = { input: { sessionId, text: content, clientTurnId: turn.id } };
      const before = performance.now();
      const sent = ask(url, token, query, variables);
      const [{ answer }] = await Promise.all([sent, turn.end.promise]);
      if (answer.includes('"errors"')) throw new Error(`sendMessage failed: ${answer}`);
      return turn.firstAt - before;
    },
    async close() {
      turn = undefined;
      await closeSocket(socket);
    },
  };
}
