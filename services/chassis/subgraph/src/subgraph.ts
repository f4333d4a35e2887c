import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { buildSubgraphSchema } from '@apollo/subgraph';
import type { GraphQLResolverMap } from '@apollo/subgraph/dist/schema-helper/index.js';
import { context as otel, propagation, SpanKind, trace } from '@opentelemetry/api';
import { enforceAccess } from '@parley/graph/access';
import { answerWriter } from '@parley/graph/answer-size';
import { effectKeyOf, type FieldPlace } from '@parley/graph/effect-key';
import { formatGraphError, graphOutcome } from '@parley/graph/graph-errors';
import { scalars } from '@parley/graph/scalars';
import { withSharedSdl } from '@parley/graph/shared-sdl';
import { answerBudget, defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { type Caller, callerHeader } from '@parley/kernel/caller';
import { type CallerRequest, type TenantRequest, tenantRequest } from '@parley/kernel/caller-request';
import { internalMessage } from '@parley/kernel/error-table';
import { isDomainError } from '@parley/kernel/errors';
import { type HttpDrain, httpDrain } from '@parley/kernel/http/http-drain';
import { type GraphServerOptions, listen } from '@parley/kernel/http/listen';
import { readWithin } from '@parley/kernel/http/read-within';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { Part } from '@parley/kernel/processes/unit';
import { requestScheduler } from '@parley/kernel/queues/request-scheduler';
import { withRequestId } from '@parley/kernel/telemetry/request-context';
import type { MeshTls } from '@parley/kernel/tls/mesh';
import { parse } from 'graphql';
import { type GraphAnswer, graphAnswer } from './graph-answer.ts';
import { type GraphRequest, operations } from './operations.ts';

export interface GraphContext {
  /** The verified caller. */
  caller: Caller;
  answer: GraphAnswer;
  /** Returns the request for the use case of a root field. Its signal aborts when the connection closes before the answer. */
  request(info: FieldPlace): CallerRequest;
  /**
   * Returns the request for a use case that needs a tenant. @throws DomainError `forbidden` with reason `NO_TENANT` if the caller has none
   */
  tenantRequest(info: FieldPlace): TenantRequest;
}

/** The context of a service that adds only the dependencies of its use cases. */
export interface PortsContext<Ports> extends GraphContext {
  ports: Ports;
}

export interface SubgraphOptions<Context extends GraphContext> extends GraphServerOptions {
  /** The subgraph's own SDL, without the definitions of `shared.graphql`, and with `@access` on every root field. */
  typeDefs: string;
  resolvers: ResolversIn<Context>;
  context: (request: GraphContext) => Context;
}

/** Resolvers by type and field. They get a `Context`; their arguments and results are checked by each service's generated `Resolvers`. */
type ResolversIn<Context> = Record<string, unknown> & {
  [Root in 'Query' | 'Mutation']?: Record<
    string,
    (parent: never, args: never, context: Context, info: never) => unknown
  >;
};

const drainTimeoutMs = 5_000;
/**
 * Maximum bytes of a body. The gateway's limit for clients (`GATEWAY_MAX_LONG_BODY_BYTES`) is lower, because the gateway adds to the bodies
 * of clients.
 */
const maxBodyBytes = 9 * 1_048_576;

/** The GraphQL server of a service, for requests with a verified caller. */
export function subgraph<Context extends GraphContext>(options: SubgraphOptions<Context>): Part {
  const { unit, host = '127.0.0.1', port, callers, log, metrics, lingerMs } = options;
  const { maxAnswerBytes = defaultMaxAnswerBytes } = options;
  const tracer = trace.getTracer('parley.graph');
  const write = answerWriter(maxAnswerBytes);
  // A server accepts one new connection per event loop iteration. The scheduler keeps iterations short, so that new clients can connect.
  const scheduler = requestScheduler();
  let draining: HttpDrain | undefined;

  /** Serves a request in its own span. */
  async function serve(run: ReturnType<typeof operations>, request: IncomingMessage, response: ServerResponse) {
    const caller = await callers.verify(request.headers[callerHeader]?.toString(), unit).catch((error: unknown) => {
      throw isDomainError(error) ? new RequestRefused(401, error.message) : error;
    });
    const parent = propagation.extract(otel.active(), request.headers);
    const span = tracer.startSpan(`${unit} graph`, { kind: SpanKind.SERVER }, parent);
    response.once('close', () => span.end());
    await otel.with(trace.setSpan(parent, span), () =>
      withRequestId(caller.requestId, () => answer(run, caller, request, response)),
    );
  }

  async function answer(
    run: ReturnType<typeof operations>,
    caller: Caller,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const signal = disconnectSignal(response);
    const body = await readBody(request);
    const started = performance.now();
    let isScheduled = false;
    await scheduler.run({ request, client: clientOf(caller), signal: () => signal }, () => {
      isScheduled = true;
    });
    if (!isScheduled) return; // the client has disconnected
    const asked = asRequest(body);
    const answering = graphAnswer(answerBudget(maxAnswerBytes));
    const { fields, ...result } = await run(asked, options.context(graphContext(caller, signal, answering)));
    const outcome = graphOutcome(result.errors);
    const seconds = (performance.now() - started) / 1000;
    for (const operation of fields) metrics.graphDuration.observe({ operation, outcome }, seconds);
    // The gateway reads errors only in responses with status 200.
    send(response, 200, write(result, answering.placed(result.data)));
  }

  return {
    name: `${unit} graph`,
    async start() {
      const schema = enforceAccess<Context>(
        buildSubgraphSchema({
          typeDefs: parse(withSharedSdl(options.typeDefs)),
          resolvers: { ...scalars, ...options.resolvers } as GraphQLResolverMap<unknown>,
        }),
      );
      const run = operations({ schema, format: formatGraphError(log) });
      const http = serverOf(options.mesh?.tls, (request, response) => {
        serve(run, request, response).catch((error: unknown) => {
          if (response.headersSent || response.destroyed) return response.destroy();
          const { status, message } =
            error instanceof RequestRefused ? error : { status: 500, message: internalMessage };
          if (status === 500) log.error({ err: error }, 'request failed');
          // The connection closes, because the rest of the body is not read.
          return send(response.setHeader('connection', 'close'), status, JSON.stringify({ errors: [{ message }] }));
        });
      });
      draining = httpDrain(http);
      const address = await listen(http, port, host);
      options.onListening?.(`${options.mesh?.tls ? 'https' : 'http'}://${address}`);
    },
    async stop() {
      await draining?.drain(drainTimeoutMs, lingerMs);
    },
  };
}

/** A server with a certificate requires that clients have a certificate of the mesh's authorities. */
function serverOf(tls: MeshTls | undefined, serve: RequestListener) {
  const settings = { keepAliveTimeout: 65_000 };
  if (!tls) return createServer(settings, serve);
  const server = createTlsServer({ ...settings, ...tls.current, requestCert: true, rejectUnauthorized: true }, serve);
  const end = tls.onChange((changed) => server.setSecureContext(changed));
  return server.once('close', end);
}

/** The refusal of a request before its operation is known. */
class RequestRefused extends Error {
  readonly status: number;

  constructor(status: 400 | 401 | 405 | 413, message: string) {
    super(message);
    this.status = status;
  }
}

function tooLarge(): RequestRefused {
  return new RequestRefused(413, `A request may have at most ${maxBodyBytes} bytes`);
}

/** Returns the scheduler's key: the tenant, or the user if there is none. All anonymous callers share one key. */
function clientOf({ tenantId, userId }: Caller): string {
  return tenantId === null ? `user ${userId}` : `tenant ${tenantId}`;
}

/** @throws RequestRefused if the method is not POST or the body is too large */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  if (request.method !== 'POST') throw new RequestRefused(405, 'GraphQL is served by POST only');
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge();
  return readWithin(request, maxBodyBytes, tooLarge);
}

/** @throws RequestRefused if the body is not a GraphQL request in JSON */
function asRequest(json: Buffer): GraphRequest {
  const body = parseJson(json.toString());
  if (!isGraphRequest(body)) throw new RequestRefused(400, 'The body is not a GraphQL request in JSON');
  return body;
}

function isGraphRequest(body: unknown): body is GraphRequest {
  if (!isJsonObject(body)) return false;
  const { query, variables, operationName } = body;
  return typeof query === 'string' && isJsonObject(variables ?? {}) && typeof (operationName ?? '') === 'string';
}

function send(response: ServerResponse, status: number, body: string | Buffer): void {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, headers).end(body);
}

/** @param signal aborts when the client disconnects */
export function graphContext(caller: Caller, signal: AbortSignal, answer: GraphAnswer): GraphContext {
  const request = (info: FieldPlace) => ({ caller, signal, effectKey: effectKeyOf(caller, info) });
  return { caller, answer, request, tenantRequest: (info) => tenantRequest(request(info)) };
}

/** Aborts when the client disconnects before the response is finished. */
function disconnectSignal(response: ServerResponse): AbortSignal {
  const disconnected = new AbortController();
  if (response.closed) disconnected.abort(); // the client disconnected while the body was read or the caller checked
  response.once('close', () => {
    if (!response.writableFinished) disconnected.abort();
  });
  return disconnected.signal;
}
