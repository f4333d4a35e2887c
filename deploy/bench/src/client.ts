import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { Client } from '@parley/stories/client';
import { startSession } from '@parley/stories/conversation';
import { sessionEventsDocument } from '@parley/stories/session-events';
import { WebSocket } from 'ws';
import { atOnce } from './figures.ts';
import { modelName } from './model-name.ts';

/** Closes idle connections before the server does: LangGraph's Agent Server closes them after 5 s without announcing it. */
const agent = new Agent({ keepAlive: true, timeout: 4_000 });

/** Closes the pooled connections. */
export const closeConnections = () => agent.destroy();

/** Posts JSON over a pooled connection with little client overhead. Resolves when the response headers arrive. */
async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const sent = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json', ...headers } });
  sent.end(JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

const credentialsOf = (token: string) => ({ 'x-app-platform': 'customer', authorization: `Bearer ${token}` });

/** Sends one operation; returns the body and the duration. */
export async function ask(url: string, token: string, query: string, variables: object) {
  return wholeAnswer(url, { query, variables }, credentialsOf(token));
}

async function wholeAnswer(url: string, body: object, headers?: Record<string, string>) {
  const before = performance.now();
  const answer = await textOf(await post(url, body, headers));
  return { answer, tookMs: performance.now() - before };
}

/** An API key with the URL of a gateway. */
export interface KeyHolder {
  url: string;
  apiKey: string;
}

/** Sends one operation with an API key from this IP address. @returns its duration in ms. @throws Error if the operation is refused */
export async function askWithKey({ url, apiKey }: KeyHolder, address: string, query: string, variables: object) {
  const headers = { 'x-app-platform': 'customer', 'x-api-key': apiKey, 'x-forwarded-for': address };
  const { answer, tookMs } = await wholeAnswer(url, { query, variables }, headers);
  if (answer.includes('"errors"')) throw new Error(`refused: ${answer}`);
  return tookMs;
}

/** Measures the time to the model server's first chunk when this process calls the server directly, as a baseline. */
export function modelFirstChunkMs(modelUrl: string, content: string): Promise<number> {
  return firstContentMs(`${modelUrl}/chat/completions`, { stream: true, ...asMessages(content) });
}

/** Measures a direct, unstreamed call of the model server, as a baseline. @throws Error if it fails */
export async function modelAnswerMs(modelUrl: string, content: string): Promise<number> {
  const { answer, tookMs } = await wholeAnswer(`${modelUrl}/chat/completions`, asMessages(content));
  if (!answer.includes('"choices"')) throw new Error(`the model server answered ${answer}`);
  return tookMs;
}

/** Returns a model request in OpenAI's format. */
export const asMessages = (content: string) => ({ model: modelName, messages: [{ role: 'user', content }] });

/** Sends a request, and returns the time until its response, a stream of JSON objects, contains a `content`; NaN if it never does. */
export async function firstContentMs(url: string, body: object): Promise<number> {
  const before = performance.now();
  const response = await post(url, body);
  let firstMs = 0;
  let head = '';
  // Reads the whole body, so that the connection can be reused.
  for await (const piece of response.setEncoding('utf8')) {
    if (firstMs === 0 && /"content": ?"[^"]/u.test((head += piece))) firstMs = performance.now() - before;
  }
  return firstMs || Number.NaN;
}

/** Opens a socket and waits for the server's acknowledgement. Then sends the subscription, if one is given. */
async function openSocket(url: string, token: string, onMessage: (message: Buffer) => void, subscription?: object) {
  const socket = new WebSocket(url.replace(/^http/u, 'ws'), 'graphql-transport-ws');
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: credentialsOf(token) }));
  await once(socket, 'message');
  socket.on('message', onMessage);
  if (subscription) socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: subscription }));
  return socket;
}

async function closeAll(sockets: WebSocket[]): Promise<void> {
  const closed = sockets.map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.close();
  await Promise.all(closed);
}

/** The subscription that each socket of `openReaders` sends. */
const chunkSubscription = `subscription ($sessionId: ID!) {
  sessionEvents(sessionId: $sessionId) {
    __typename eventId sessionId occurredAt
    ... on AiResponseChunkEvent { clientTurnId turnIndex attempt text }
  }
}`;

export type Readers = Awaited<ReturnType<typeof openReaders>>;

/** Opens many sockets that count events without parsing them. Without a session, the sockets do not subscribe. */
export async function openReaders(url: string, token: string, count: number, sessionId?: number) {
  let received = 0;
  const reached = new Set<number>();
  const variables = { sessionId: String(sessionId) };
  const subscription = sessionId === undefined ? undefined : { query: chunkSubscription, variables };
  const hearAt = (reader: number) => () => {
    received += 1;
    if (reached.size < count) reached.add(reader);
  };
  const open: WebSocket[] = [];
  while (open.length < count) {
    const next = Math.min(25, count - open.length);
    const from = open.length;
    open.push(...(await atOnce(next, (index) => openSocket(url, token, hearAt(from + index), subscription))));
  }
  return {
    size: count,
    /** Reports whether each socket has received an event; nothing else shows that a subscription is active. */
    allReached: () => reached.size === count,
    /** Returns the number of events received on all sockets. */
    count: () => received,
    [Symbol.asyncDispose]: () => closeAll(open),
  };
}

/** Starts a session and opens a socket for it. */
export async function openTalker(person: Client, agentId: number) {
  const { id } = await startSession(person, agentId);
  return openConversation(person.url, person.tokens?.accessToken ?? '', id);
}

/** Opens a socket for the replies of one session. */
export async function openConversation(url: string, token: string, sessionId: number) {
  let turn: { id: string; firstAt: number; end: PromiseWithResolvers<void> } | undefined;
  function onMessage(message: Buffer): void {
    const text = message.toString();
    if (!turn || !text.includes(turn.id)) return;
    if (text.includes('"AiResponseChunkEvent"')) turn.firstAt ||= performance.now();
    else if (text.includes('"AiResponseEvent"')) turn.end.resolve();
    else turn.end.reject(new Error(`A turn failed: ${text}`));
  }
  const subscription = { query: sessionEventsDocument, variables: { sessionId: String(sessionId), after: '0' } };
  const socket = await openSocket(url, token, onMessage, subscription);
  socket.on('close', () => turn?.end.reject(new Error('The socket was closed')));
  const query = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
  return {
    sessionId,
    /** Sends a message and waits for the end of its turn; returns the time from the send to the first chunk, in ms. */
    async firstChunkMs(content: string): Promise<number> {
      turn = { id: randomUUID(), firstAt: 0, end: Promise.withResolvers() };
      const variables = { input: { sessionId, text: content, clientTurnId: turn.id } };
      const before = performance.now();
      const sent = ask(url, token, query, variables);
      const [{ answer }] = await Promise.all([sent, turn.end.promise]);
      if (answer.includes('"errors"')) throw new Error(`sendMessage failed: ${answer}`);
      return turn.firstAt - before;
    },
    [Symbol.asyncDispose]: () => closeAll([socket]),
  };
}

/**
 * Returns a conversation over pooled connections.
 * @param firstChunkMs resolves at the end of a turn with the time to its first chunk in ms
 */
export function withoutSocket(firstChunkMs: (content: string) => Promise<number>) {
  return { firstChunkMs, [Symbol.asyncDispose]: async () => undefined };
}
