import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay, setImmediate as nextTick } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { listen } from '@parley/kernel/http/listen';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { ChatRequestBody, ModelAnswer, SentTools } from './model-answer.ts';
import {
  type Answering,
  callsOf,
  json,
  type ModelFormat,
  type ModelFormatName,
  type NumberedCall,
  piecesOf,
  type ReadRequest,
  splitBytes,
  usageOf,
} from './model-format.ts';
import { anthropicFormat } from './model-formats/anthropic-format.ts';
import { bedrockFormat } from './model-formats/bedrock-format.ts';
import { googleFormat } from './model-formats/google-format.ts';
import { openaiFormat, wholeAnswer } from './model-formats/openai-format.ts';

const formats: readonly ModelFormat[] = [openaiFormat, anthropicFormat, googleFormat, bedrockFormat];

/** The billed tokens of finished responses. */
export interface BilledTokens {
  tokensIn: number;
  /** The cached part of `tokensIn`. */
  tokensCached: number;
  tokensOut: number;
}

export interface ReceivedRequest {
  format: ModelFormatName;
  /** The path with its query. */
  path: string;
  headers: IncomingMessage['headers'];
  /** The request in OpenAI's terms, whatever its format. */
  body: ChatRequestBody;
  /** The tool calls and results in the request. */
  sent: SentTools;
  /** The request body as sent. */
  text: string;
  /** The billed usage. Set when the whole answer has been sent, even if the answer does not contain the usage. */
  billed?: BilledTokens;
  /** `cancelled`: the client closed the socket before the end. `cut`: the server closed it, as scripted. */
  state: 'running' | 'finished' | 'cancelled' | 'cut';
}

/** An answer, or a function of the request, its index, and its tool calls and results. */
export type ModelScript =
  | ModelAnswer
  | ((body: ChatRequestBody, index: number, sent: SentTools) => ModelAnswer | Promise<ModelAnswer>);

export interface ModelServerOptions {
  /** Decides the answers. Default: normal short answers. */
  script?: ModelScript;
  /** Requests without this key get 401; for Bedrock only the key's id is compared. Default: no key is required. */
  key?: string;
  /** The model ids that `GET /v1/models` lists. Requests may name any model. Default `test-model`. */
  modelIds?: string[];
  /** The port to listen on; 0: any free port. */
  port?: number;
}

export interface ModelServer {
  /** The base URL, `/v1` included, as in `..._URL` settings. */
  readonly url: string;
  /** The base URL of each wire format. */
  readonly urls: Readonly<Record<ModelFormatName | 'openai-compatible', string>>;
  /** Chat requests in the order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  /** The number of chat requests by state. */
  readonly counts: { started: number; finished: number; cancelled: number; running: number };
  /** The sum of billed tokens of all finished responses. */
  readonly billed: BilledTokens;
  /** Sockets accepted so far. */
  readonly connections: number;
  /** Changes the script for later requests. */
  answerWith(script: ModelScript): void;
  /** Resolves when `condition` holds, checked after each change; rejects after `timeoutMs` (default 30,000). */
  until(condition: (server: ModelServer) => boolean, timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts an HTTP server on loopback that streams scripted answers in the formats of OpenAI, Anthropic, Google and Amazon Bedrock, each
 * format at its own paths; in OpenAI's format also without a stream. It replaces model providers in tests, behind a real socket.
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
    // A rejection means that the client disconnected before its request was complete.
    handle(request, response).catch(() => response.destroy());
  });
  http.on('connection', (socket) => {
    connections += 1;
    socket.setNoDelay(true);
    changed();
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, search } = new URL(request.url ?? '/', 'http://localhost');
    if (options.key !== undefined && !isKeyed(request.headers, options.key)) {
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
    const text = await textOf(request);
    const parsed = parseJson(text);
    const sent = isJsonObject(parsed) ? parsed : {};
    const [found] = formats.flatMap((format) => {
      const read = request.method === 'POST' ? format.read(path, sent) : undefined;
      return read ? [{ format: format.name, read }] : [];
    });
    if (!found) {
      return json(response, 404, { error: { message: `Unknown path ${path}`, type: 'invalid_request_error' } });
    }

    const { format, read } = found;
    const body = read.request;
    const { headers } = request;
    const { sent: tools } = read;
    const at = path + search;
    const received: ReceivedRequest = { format, path: at, headers, body, sent: tools, text, state: 'running' };
    requests.push(received);
    const closed = new Promise<void>((resolve) => {
      response.on('close', () => {
        if (received.state === 'running') received.state = response.writableFinished ? 'finished' : 'cancelled';
        changed();
        resolve();
      });
    });
    changed();

    const answer = typeof script === 'function' ? await script(body, requests.length - 1, tools) : script;
    await Promise.race([closed, give(response, received, read, answer)]);
  }

  const address = await listen(http, options.port);

  const server: ModelServer = {
    url: `http://${address}/v1`,
    urls: {
      openai: `http://${address}/v1`,
      'openai-compatible': `http://${address}/v1`,
      anthropic: `http://${address}/v1`,
      google: `http://${address}/v1beta`,
      bedrock: `http://${address}`,
    },
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
    get billed() {
      const sum = { tokensIn: 0, tokensCached: 0, tokensOut: 0 };
      for (const { state, billed } of requests) {
        if (state !== 'finished' || !billed) continue;
        sum.tokensIn += billed.tokensIn;
        sum.tokensCached += billed.tokensCached;
        sum.tokensOut += billed.tokensOut;
      }
      return sum;
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

async function give(response: ServerResponse, received: ReceivedRequest, read: ReadRequest, answer: ModelAnswer) {
  await answer.beforeHeaders?.pass();
  const format = formatOf(received.format);
  const status = answer.status ?? 200;
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  if (answer.refuses !== undefined && answer.refuses in JSON.parse(received.text)) {
    const message = `extra fields not permitted: ${answer.refuses}`;
    const error = { message, type: 'invalid_request_error', param: answer.refuses, code: 'unsupported_parameter' };
    return json(response, 400, { error });
  }
  if (answer.gzip) return sendCompressed(response, answer.body ?? (answer.packetsSent ?? []).join(''), status);
  if (answer.body !== undefined) return void response.writeHead(status).end(answer.body);
  if (answer.packetsSent) return sendPackets(response, received, answer, answer.packetsSent);
  if (status !== 200) return json(response, status, format.refusal(status));

  const { request } = read;
  const isJson = request.response_format !== undefined && answer.json !== undefined;
  const pieces = isJson ? [JSON.stringify(answer.json)] : piecesOf(answer);
  const { ending = 'stop' } = answer;
  const calls = callsOf(answer);
  const usage = usageOf(request, answer, [...pieces, ...calls.map(({ name, text }) => ` ${name} ${text}`)]);
  const answering: Answering = {
    request,
    asTool: read.asTool && isJson,
    finish: ending === 'length' || ending === 'content_filter' ? ending : calls.length > 0 ? 'tool_calls' : 'stop',
    signature: answer.signature,
    usage: answer.usage === null ? undefined : usage,
  };
  const billed = {
    tokensIn: usage.prompt_tokens,
    tokensCached: usage.cached_tokens,
    tokensOut: usage.completion_tokens,
  };
  if (request.stream === true) return stream(response, received, answer, { format, answering, pieces, calls, billed });
  received.billed = billed;
  json(response, 200, wholeAnswer(answering, pieces.join(''), calls));
}

/** Sends each packet separately, so that clients receive packets before the end. */
async function sendPackets(
  response: ServerResponse,
  received: ReceivedRequest,
  answer: ModelAnswer,
  packets: readonly (string | Uint8Array)[],
): Promise<void> {
  response.writeHead(answer.status ?? 200, { 'content-type': formatOf(received.format).streamType });
  response.flushHeaders();
  for (const packet of packets) {
    await pause(answer);
    if (response.destroyed) return;
    response.write(packet);
    await nextTick();
  }
  const { prompt_tokens = 0, completion_tokens = 0, cached_tokens = 0 } = answer.usage ?? {};
  received.billed = { tokensIn: prompt_tokens, tokensCached: cached_tokens, tokensOut: completion_tokens };
  if (answer.ending !== 'never') response.end();
}

function sendCompressed(response: ServerResponse, text: string, status: number): void {
  response.writeHead(status, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end(gzipSync(text));
}

interface Streaming {
  format: ModelFormat;
  answering: Answering;
  pieces: string[];
  calls: NumberedCall[];
  billed: BilledTokens;
}

async function stream(
  response: ServerResponse,
  received: ReceivedRequest,
  answer: ModelAnswer,
  { format, answering, pieces, calls, billed }: Streaming,
): Promise<void> {
  const send = async (...events: Buffer[]) => {
    for (const packet of events.flatMap((event) => splitBytes(event, answer.packets ?? 'event'))) {
      if (answer.packets === 'byte') {
        await answer.beforeByte?.pass();
        if (answer.byteDelayMs) await delay(answer.byteDelayMs);
      }
      if (response.destroyed) return;
      // Waits for an iteration of the event loop, so that packets are sent separately.
      if (!response.write(packet)) await drainedOrClosed(response);
      if (answer.packets !== undefined && answer.packets !== 'event') await nextTick();
    }
  };
  const { ending = 'stop' } = answer;

  response.writeHead(200, { 'content-type': format.streamType, 'cache-control': 'no-cache' });
  response.flushHeaders();
  await send(...format.opening(answering));
  for (const thought of answer.thoughts ?? []) {
    await pause(answer);
    if (response.destroyed) return;
    await send(format.thought(answering, thought));
  }
  for (;;) {
    for (const piece of pieces) {
      await pause(answer);
      if (response.destroyed) return;
      await send(format.delta(answering, piece));
    }
    for (const events of inOrder(
      calls.map((call) => format.toolCall(answering, call)),
      answer,
    )) {
      await pause(answer);
      if (response.destroyed) return;
      await send(...events);
    }
    if (ending !== 'endless') break;
    await nextTick();
  }
  switch (ending) {
    case 'never':
      return;
    case 'cut':
      received.state = 'cut';
      // The chunked body stays incomplete, which the client must notice.
      return void response.socket?.end();
    case 'error-event':
      return void response.end(format.error(answer.error));
    case 'malformed':
      return void response.end(format.malformed);
    case 'unfinished':
      return void response.end(Buffer.concat(format.unfinished));
    default:
      received.billed = billed;
      await send(...format.finish(answering));
      response.end();
  }
}

/** Returns the events of all calls, one call after another or interleaved. */
function inOrder(calls: Buffer[][][], { interleaved = false }: ModelAnswer): Buffer[][] {
  if (!interleaved) return calls.flat();
  const longest = Math.max(0, ...calls.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => calls.flatMap((events) => events.slice(at, at + 1))).flat();
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

function formatOf(name: ModelFormatName): ModelFormat {
  return formats.find((format) => format.name === name) ?? openaiFormat;
}

function isKeyed(headers: IncomingMessage['headers'], key: string): boolean {
  const { authorization = '' } = headers;
  if ([headers['x-api-key'], headers['x-goog-api-key']].includes(key) || authorization === `Bearer ${key}`) return true;
  return key.includes(':') && authorization.startsWith(`AWS4-HMAC-SHA256 Credential=${key.split(':')[0]}/`);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
