import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay, setImmediate as nextTick } from 'node:timers/promises';
import { listen } from '@parley/kernel/listen';
import type { ChatRequestBody, ModelAnswer } from './model-answer.ts';
import { doneEvent, finishEvents, json, openingEvent, piecesOf, splitBytes, textEvent } from './model-server-wire.ts';

export interface ReceivedRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: ChatRequestBody;
  /** `cancelled`: the client closed the socket before the end. `cut`: the server did, by its script. */
  state: 'running' | 'finished' | 'cancelled' | 'cut';
}

/** An answer, or a function of the request and its index. */
export type ModelScript = ModelAnswer | ((body: ChatRequestBody, index: number) => ModelAnswer | Promise<ModelAnswer>);

export interface ModelServerOptions {
  /** Default: a normal short answer. */
  script?: ModelScript;
  /** Requests without this bearer key get 401. Default: no key is needed. */
  key?: string;
  /** The ids of `GET /v1/models`. Requests may have any id. Default `test-model`. */
  modelIds?: string[];
  /** 0: any free port. */
  port?: number;
}

export interface ModelServer {
  /** The base URL, `/v1` included, as in `..._URL` settings. */
  readonly url: string;
  /** Chat requests in the order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  /** The number of chat requests by state. */
  readonly counts: { started: number; finished: number; cancelled: number; running: number };
  /** Sockets accepted so far. */
  readonly connections: number;
  /** Changes the script for later requests. */
  answerWith(script: ModelScript): void;
  /** Resolves when `condition` holds, checked after each change; rejects after `timeoutMs` (default 30,000). */
  until(condition: (server: ModelServer) => boolean, timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts an HTTP server on loopback with OpenAI's chat completions, streamed or not, answered by a script. It replaces a model
 * provider in tests, behind a real socket.
 */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  let script: ModelScript = options.script ?? {};
  let connections = 0;
  const requests: ReceivedRequest[] = [];
  const watchers = new Set<() => void>();
  const changed = () => {
    for (const look of watchers) look();
  };

  const http = createServer((request, response) => {
    // The client left before its request was complete.
    handle(request, response).catch(() => response.destroy());
  });
  http.on('connection', (socket) => {
    connections += 1;
    socket.setNoDelay(true);
    changed();
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    if (options.key !== undefined && request.headers.authorization !== `Bearer ${options.key}`) {
      return json(response, 401, {
        error: { message: 'Incorrect API key', type: 'invalid_request_error', code: 'invalid_api_key' },
      });
    }
    if (request.method === 'GET' && path === '/v1/models') {
      const data = (options.modelIds ?? ['test-model']).map((id) => ({
        id,
        object: 'model',
        created: 0,
        owned_by: 'test',
      }));
      return json(response, 200, { object: 'list', data });
    }
    if (request.method !== 'POST' || path !== '/v1/chat/completions') {
      return json(response, 404, { error: { message: `Unknown path ${path}`, type: 'invalid_request_error' } });
    }

    const body = JSON.parse(await textOf(request)) as ChatRequestBody;
    const received: ReceivedRequest = { path, headers: request.headers, body, state: 'running' };
    requests.push(received);
    const left = new Promise<void>((resolve) => {
      response.on('close', () => {
        if (received.state === 'running') received.state = response.writableFinished ? 'finished' : 'cancelled';
        changed();
        resolve();
      });
    });
    changed();

    const answer = typeof script === 'function' ? await script(body, requests.length - 1) : script;
    await Promise.race([left, give(response, received, answer)]);
  }

  const address = await listen(http, options.port);

  const server: ModelServer = {
    url: `http://${address}/v1`,
    requests,
    get connections() {
      return connections;
    },
    get counts() {
      const in_ = (state: ReceivedRequest['state']) => requests.filter((request) => request.state === state).length;
      return {
        started: requests.length,
        finished: in_('finished'),
        cancelled: in_('cancelled'),
        running: in_('running'),
      };
    },
    answerWith(next) {
      script = next;
    },
    async until(condition, timeoutMs = 30_000) {
      if (condition(server)) return;
      await new Promise<void>((resolve, reject) => {
        const look = () => {
          if (condition(server)) end(resolve);
        };
        const end = (settle: () => void) => {
          clearTimeout(timer);
          watchers.delete(look);
          settle();
        };
        const tooLate = () =>
          reject(new Error(`not within ${timeoutMs} ms; requests: ${JSON.stringify(server.counts)}`));
        const timer = setTimeout(() => end(tooLate), timeoutMs);
        watchers.add(look);
      });
    },
    async stop() {
      const closed = once(http, 'close');
      http.close();
      http.closeAllConnections();
      await closed;
    },
  };
  return server;
}

async function give(response: ServerResponse, received: ReceivedRequest, answer: ModelAnswer): Promise<void> {
  await answer.beforeHeaders?.pass();
  const status = answer.status ?? 200;
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  if (answer.body !== undefined) return void response.writeHead(status).end(answer.body);
  if (status !== 200) {
    return json(response, status, { error: { message: `Scripted status ${status}`, type: 'scripted', code: status } });
  }

  const { body } = received;
  const pieces = body.response_format && answer.json !== undefined ? [JSON.stringify(answer.json)] : piecesOf(answer);
  if (body.stream === true) return stream(response, received, answer, pieces);

  for (const _ of pieces) await pause(answer);
  await end(response, received, answer, () => {
    const message = { role: 'assistant', content: pieces.join('') };
    const { finish, usage } = finishEvents(body, answer, pieces);
    const choices = [{ index: 0, message, finish_reason: finish }];
    json(response, 200, { id: 'chatcmpl-1', object: 'chat.completion', created: 0, model: body.model, choices, usage });
  });
}

async function stream(response: ServerResponse, received: ReceivedRequest, answer: ModelAnswer, pieces: string[]) {
  const { body } = received;
  const send = async (event: string) => {
    for (const packet of splitBytes(event, answer.packets ?? 'event')) {
      if (answer.packets === 'byte') await answer.beforeByte?.pass();
      if (response.destroyed) return;
      // Waits for a turn of the event loop, so that each packet is sent by itself.
      if (!response.write(packet)) await drainedOrClosed(response);
      if (answer.packets !== undefined && answer.packets !== 'event') await nextTick();
    }
  };

  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  await send(openingEvent(body));
  for (const piece of pieces) {
    await pause(answer);
    if (response.destroyed) return;
    await send(textEvent(body, piece));
  }
  await end(response, received, answer, async () => {
    for (const event of finishEvents(body, answer, pieces).events) await send(event);
    await send(doneEvent);
    response.end();
  });
}

/** Ends the response by its script; `inOrder` is the normal end. */
async function end(
  response: ServerResponse,
  received: ReceivedRequest,
  answer: ModelAnswer,
  inOrder: () => void | Promise<void>,
): Promise<void> {
  switch (answer.ending) {
    case 'never':
      return;
    case 'cut':
      received.state = 'cut';
      // The chunked body stays incomplete, so the client must notice.
      response.socket?.end();
      return;
    case 'error-event': {
      const error = { message: 'The scripted model broke', type: 'server_error', code: 'broken' };
      response.end(
        received.body.stream === true ? `data: ${JSON.stringify({ error })}\n\n` : JSON.stringify({ error }),
      );
      return;
    }
    case 'malformed':
      response.end(received.body.stream === true ? 'data: {"choices": [{"delta": \n\n' : '{"choices": [');
      return;
    case 'unfinished':
      response.end(received.body.stream === true ? doneEvent : '{}');
      return;
    default:
      await inOrder();
  }
}

async function pause({ beforeDelta, deltaDelayMs = 0 }: ModelAnswer): Promise<void> {
  await beforeDelta?.pass();
  if (deltaDelayMs > 0) await delay(deltaDelayMs);
}

function drainedOrClosed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
