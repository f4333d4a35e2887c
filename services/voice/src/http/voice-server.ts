import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { context as otel, SpanKind, trace } from '@opentelemetry/api';
import { errorTable, internalMessage } from '@parley/kernel/error-table';
import { DomainError, isDomainError, notFound } from '@parley/kernel/errors';
import { clientAddress } from '@parley/kernel/http/client-address';
import { clientNetwork } from '@parley/kernel/http/client-network';
import { httpDrain, productionLingerMs } from '@parley/kernel/http/http-drain';
import { listen } from '@parley/kernel/http/listen';
import { requestIdFrom } from '@parley/kernel/http/request-id';
import type { Part } from '@parley/kernel/processes/unit';
import { createSessionTokens, type TokenClaims } from '@parley/kernel/secrets/session-token';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { withRequestId } from '@parley/kernel/telemetry/request-context';
import type { UnitDependencies } from '@parley/unit/unit-dependencies';
import { modelsPath } from '../avatar-catalog.ts';
import type { VoiceConfig } from '../config.ts';
import { openAvatarSession } from '../open-avatar-session.ts';
import { openApi } from '../openapi.ts';
import type { Ports } from '../ports.ts';
import type { Asking, Speech } from '../speech.ts';
import { type SpeechStream, streamSpeech } from '../stream-speech.ts';
import { synthesize, synthesizeAsGoogle } from '../synthesize.ts';
import { transcribe } from '../transcribe.ts';
import { memoryBudget } from './memory-budget.ts';
import { HttpRefusal, readJsonBody } from './read-body.ts';
import { sendAudio, sendSpeech } from './send-audio.ts';
import { sendModel } from './send-model.ts';
import { tryPaths } from './try-page.ts';
import { type ThrottledRoute, voiceThrottle } from './voice-throttle.ts';

interface Given extends UnitDependencies {
  config: VoiceConfig;
  metrics: Metrics;
  log: Logger;
}

interface Call {
  claims: TokenClaims;
  body: object;
  asking: Asking;
}

/** A route's handler: it returns JSON or speech as JSON, or streams audio. */
type Post = { maxBodyBytes: number; isBodyOptional?: boolean } & (
  | { answer(ports: Ports, call: Call): Promise<object> }
  | { speak(ports: Ports, call: Call): Promise<Speech> }
  | { stream(ports: Ports, call: Call): SpeechStream }
);

const drainTimeoutMs = 20_000;

/** Maximum size of a body with a text: enough for 5,000 characters, even if all are escaped. */
const textBodyBytes = 131_072;
/** Maximum size of a body with a clip: enough for 5,600,000 characters of base64 and the other fields. */
const clipBodyBytes = 5_700_000;

const posts: Record<ThrottledRoute, Post> = {
  '/tts': {
    maxBodyBytes: textBodyBytes,
    speak: (ports, { claims, body, asking }) => synthesize(ports, claims.tenantId, body, asking),
  },
  '/tts/google': {
    maxBodyBytes: textBodyBytes,
    speak: (ports, { claims, body, asking }) => synthesizeAsGoogle(ports, claims.tenantId, body, asking),
  },
  '/tts/stream': {
    maxBodyBytes: textBodyBytes,
    stream: (ports, { claims, body, asking }) => streamSpeech(ports, claims.tenantId, body, asking),
  },
  '/stt': {
    maxBodyBytes: clipBodyBytes,
    answer: (ports, { claims, body, asking }) => transcribe(ports, claims.tenantId, body, asking),
  },
  '/avatar-session': {
    maxBodyBytes: textBodyBytes,
    isBodyOptional: true,
    answer: (ports, { claims, body, asking }) => openAvatarSession(ports, claims, body, asking),
  },
};

const exposedHeaders = 'x-request-id, retry-after, etag, content-range, accept-ranges';
const knownGets = ['/health', '/openapi.json', `/${modelsPath}`, ...tryPaths];
const modelFile = new RegExp(`^/${modelsPath}/([\\w-]+\\.glb)$`, 'u');

/** Creates the HTTP server for clients. Throttling comes before the verification of tokens, and both come before the body is read. */
export function voiceServer(
  ports: Ports,
  { config, metrics, log, keyValue, host, addresses, development }: Given,
): Part {
  const tokens = createSessionTokens(config.avatarTokenKeys);
  const clientIp = clientAddress(config.trustedProxies);
  const degraded = metrics.counter(
    'parley_throttle_degraded_total',
    'Throttled requests that this process counted alone, because counts could not be shared',
  );
  const throttle = voiceThrottle({ keyValue, onDegraded: () => degraded.add(), log });
  const budget = memoryBudget(config.maxBodiesBytes);
  const seconds = metrics.durations('parley_voice_request_seconds', 'Requests of clients', ['route', 'outcome']);
  /** Responses that were cut short by a fault other than the client's. */
  const failed = new WeakSet<ServerResponse>();
  const tracer = trace.getTracer('parley.voice');
  const http = createServer(
    {
      keepAliveTimeout: 65_000,
      requestTimeout: config.requestTimeoutMs,
      headersTimeout: Math.min(10_000, config.requestTimeoutMs),
      connectionsCheckingInterval: Math.min(5_000, config.requestTimeoutMs),
    },
    (request, response) => serve(request, response),
  );
  http.maxConnections = config.maxConnections;
  const { drain } = httpDrain(http);

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const requestId = requestIdFrom(request.headers['x-request-id']);
    const path = pathOf(request);
    const route = routeOf(path);
    const end = seconds.startTimer({ route });
    const started = performance.now();
    response.setHeader('x-request-id', requestId);
    response.setHeader('x-content-type-options', 'nosniff');
    allowOrigin(request, response);
    // Node's socket timeout fires when no written byte was sent within this time.
    response.once('prefinish', () => response.socket?.setTimeout(config.stallTimeoutMs));
    const span = tracer.startSpan('voice request', { kind: SpanKind.SERVER, root: true, attributes: { route } });
    const inRequest = (work: () => void) =>
      otel.with(trace.setSpan(otel.active(), span), () => withRequestId(requestId, work));
    response.once('close', () => {
      span.end();
      const { statusCode: status } = response;
      const answered = status >= 500 ? 'error' : status >= 400 ? 'refused' : 'ok';
      const outcome = response.writableFinished ? answered : failed.has(response) ? 'error' : 'refused';
      end({ outcome });
      const ms = Math.round(performance.now() - started);
      inRequest(() => log.info({ route, status, outcome, isAborted: !response.writableFinished, ms }, 'request'));
    });
    inRequest(() => {
      answer(path, request, response).catch((error: unknown) => refuse(request, response, error));
    });
  }

  async function answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'OPTIONS') return void response.writeHead(204).end();
    const post = Object.hasOwn(posts, path) ? (path as ThrottledRoute) : undefined;
    if (post) {
      if (request.method !== 'POST') throw notAllowed(response, 'POST, OPTIONS');
      return answerPost(post, request, response);
    }
    const file = modelFile.exec(path)?.[1];
    const isKnown = file !== undefined || knownGets.includes(path);
    if (!isKnown) throw new DomainError('notFound', 'There is nothing here; /openapi.json says what is');
    if (request.method !== 'GET' && request.method !== 'HEAD') throw notAllowed(response, 'GET, HEAD, OPTIONS');
    if (path === '/health') return send(response, 200, { status: 'ok' });
    if (path === '/openapi.json') return send(response, 200, openApi);
    if (tryPaths.includes(path)) return ports.page.send(path, request, response);
    if (file === undefined) return send(response, 200, { models: await ports.models.list() });
    const model = await ports.models.find(file);
    if (!model) throw notFound('Model', file);
    try {
      await sendModel(request, response, model, config.stallTimeoutMs);
    } finally {
      await model.close();
    }
  }

  async function answerPost(route: ThrottledRoute, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const post = posts[route];
    const { claims, refusal } = readToken(request);
    // If a unit calls on behalf of a client, the client's limit applies. The unit's token contains the client's address.
    const behind = claims?.audience === 'voice' ? claims.clientIp : undefined;
    const address = behind ?? clientIp(request);
    await throttle(route, address, claims?.tenantId);
    if (!claims) throw refusal;
    if (response.destroyed) return;
    const { stallTimeoutMs } = config;
    const disconnected = new AbortController();
    const memory = budget.share({ tenantId: claims.tenantId, network: clientNetwork(address) });
    const tooSlow = setTimeout(() => reset(response), config.answerTimeoutMs);
    // This event means that the client has received the whole answer or has disconnected.
    response.once('close', () => {
      clearTimeout(tooSlow);
      disconnected.abort(new HttpRefusal(499, 'The client has left'));
      memory.end();
    });
    const body = await readJsonBody(request, post.maxBodyBytes, memory.take, post.isBodyOptional);
    const call = { claims, body, asking: { memory, signal: disconnected.signal } };
    if ('stream' in post) await sendAudio(response, post.stream(ports, call), stallTimeoutMs);
    else if ('speak' in post) await sendSpeech(response, await post.speak(ports, call), stallTimeoutMs);
    else send(response, 200, await post.answer(ports, call));
  }

  function readToken(request: IncomingMessage): { claims?: TokenClaims; refusal?: unknown } {
    const token = /^bearer +(\S+)$/iu.exec(request.headers.authorization ?? '')?.[1];
    try {
      return { claims: tokens.verify(token, ['session', 'voice']) };
    } catch (refusal) {
      return { refusal };
    }
  }

  function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
    const { corsOrigins } = config;
    const { origin } = request.headers;
    if (corsOrigins.includes('*')) response.setHeader('access-control-allow-origin', '*');
    else {
      response.setHeader('vary', 'origin');
      if (origin === undefined || !corsOrigins.includes(origin)) return;
      response.setHeader('access-control-allow-origin', origin);
    }
    response.setHeader('access-control-expose-headers', exposedHeaders);
    if (request.method !== 'OPTIONS') return;
    response.setHeader('access-control-allow-methods', 'GET, HEAD, POST');
    response.setHeader('access-control-allow-headers', 'authorization, content-type, x-request-id, range');
    response.setHeader('access-control-max-age', '86400');
  }

  function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (response.destroyed) return;
    if (response.headersSent) return cutOff(response, error);
    // On a connection that stays open, the unread rest of the body would be parsed as the next request.
    if (!request.complete) response.setHeader('connection', 'close');
    const { status, code, message } = refusalOf(error);
    if (status === 429 || status === 503) response.setHeader('retry-after', status === 429 ? '60' : '5');
    report(status, error);
    send(response, status, { error: { code, message } });
  }

  /** Resets the connection, so that no client, not even with HTTP/1.0, mistakes a truncated stream for a complete one. */
  function cutOff(response: ServerResponse, error: unknown): void {
    const { status } = refusalOf(error);
    if (status >= 500) failed.add(response);
    report(status, error);
    reset(response);
  }

  function report(status: number, error: unknown): void {
    // An unavailable error without a cause means a limit or a missing configuration. Clients must not be able to fill the log with such
    // errors.
    if (status === 503 && error instanceof Error && error.cause !== undefined)
      log.warn({ err: error }, 'dependency unavailable');
    if (status === 500) log.error({ err: error }, 'request failed');
  }

  return {
    name: 'voice public',
    async start() {
      const address = await listen(http, config.port, host);
      addresses.announce('voice', 'public', `http://${address}`);
    },
    stop: () => drain(drainTimeoutMs, development ? 0 : productionLingerMs),
  };
}

function refusalOf(error: unknown): { status: number; code: string; message: string } {
  if (error instanceof HttpRefusal) return error;
  if (!isDomainError(error) || error.kind === 'internal') {
    const message = isDomainError(error) && error.cause === undefined ? error.message : internalMessage;
    return { status: 500, code: errorTable.internal.code, message };
  }
  const { http: status, code } = errorTable[error.kind];
  return { status, code, message: error.message };
}

function notAllowed(response: ServerResponse, methods: string): HttpRefusal {
  response.setHeader('allow', methods);
  return new HttpRefusal(405, `This takes ${methods}`);
}

function reset(response: ServerResponse): void {
  if (response.socket) response.socket.resetAndDestroy();
  else response.destroy();
}

function send(response: ServerResponse, status: number, content: object): void {
  if (response.destroyed) return;
  const body = Buffer.from(JSON.stringify(content));
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', body.length);
  if (!response.hasHeader('cache-control')) response.setHeader('cache-control', 'no-store');
  response.writeHead(status).end(response.req.method === 'HEAD' ? undefined : body);
}

/** Returns the path of a URL, without its query. */
function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '/';
}

/** Returns the route as a metrics label, which contains nothing that a client chooses. */
function routeOf(path: string): string {
  if (Object.hasOwn(posts, path) || path === '/health' || path === '/openapi.json') return path;
  return path.startsWith(`/${modelsPath}`) ? `/${modelsPath}` : 'other';
}
