import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GraphQLDataSource, GraphQLDataSourceProcessOptions } from '@apollo/gateway';
import { context as otel, propagation } from '@opentelemetry/api';
import { graphError } from '@parley/graph/graph-errors';
import { answerTooLarge } from '@parley/kernel/answer-budget';
import { type Caller, type Callers, callerHeader } from '@parley/kernel/caller';
import { DomainError, isDomainError, unavailable } from '@parley/kernel/errors';
import { type FairQueueLimits, fairQueue } from '@parley/kernel/fair-queue';
import { idleConnectionMs } from '@parley/kernel/http-drain';
import type { Logger } from '@parley/kernel/log';
import type { MeshTls } from '@parley/kernel/mesh';
import { GraphQLError } from 'graphql';
import { buildConnector, type Dispatcher, errors, Pool } from 'undici';
import type { CurrentCaller } from '../credentials/current-caller.ts';
import { tookEffect } from '../idempotency/took-effect.ts';
import { type FieldRules, ruleOf } from './field-rules.ts';
import type { AnswerBudget, GatewayContext } from './gateway-context.ts';
import type { RootField } from './root-fields.ts';
import { isRetryable, requestedFields, runningMutations, splitMutations } from './split-mutations.ts';
import { type SubgraphShare, sharesOf } from './subgraph-share.ts';

export interface SubgraphSourceOptions {
  /** The service that owns the subgraph; the audience of minted callers. */
  unit: string;
  url: string;
  rules: FieldRules;
  callers: Callers;
  tls: MeshTls | undefined;
  /** Time limit in ms from entering the queue to the last byte of the response. */
  timeoutMs: number;
  /** How long a connection is used, in ms. */
  connectionMs: number;
  calls: FairQueueLimits<SubgraphShare>;
  /** The same of requests with a field that may take minutes. */
  long: { timeoutMs: number; calls: FairQueueLimits<SubgraphShare> };
  maxAnswerBytes: number;
  log: Logger;
}

/** Over pooled HTTP connections; the fetcher of `@apollo/gateway` takes half of the cost of a federated query. */
export interface SubgraphSource extends GraphQLDataSource<GatewayContext> {
  readonly unit: string;
  /** The bytes of an answer to a query, unread. Throws as `process` does. */
  receive(request: Query, context: GatewayContext): Promise<Buffer>;
  readonly waiting: number;
  close(): Promise<void>;
}

/** Sends of a query whose connection closes before the response. */
const maxAttempts = 3;

const connectTimeoutMs = 1_000;
/** The handshake waits for the other process, a connection alone only for its system. */
const tlsConnectTimeoutMs = 5_000;

/** Opens connections with the certificate that counts at the time. */
function tlsConnector(tls: MeshTls): buildConnector.connector {
  const build = () => buildConnector({ ...tls.current, allowH2: false, timeout: tlsConnectTimeoutMs });
  let connect = build();
  tls.onChange(() => {
    connect = build();
  });
  return (options, connected) => connect(options, connected);
}

export function subgraphSource({
  unit,
  url,
  rules,
  callers,
  tls,
  timeoutMs,
  connectionMs,
  calls,
  long,
  maxAnswerBytes,
  log,
}: SubgraphSourceOptions): SubgraphSource {
  // The queue of the pool is first in, first out, so one client could fill it.
  const usual = { queue: fairQueue(calls), timeoutMs };
  const longRunning = { queue: fairQueue(long.calls), timeoutMs: long.timeoutMs };
  const pool = new Pool(new URL(url).origin, {
    connections: calls.inFlight === undefined ? null : calls.inFlight + (long.calls.inFlight ?? 0),
    connectTimeout: connectTimeoutMs,
    ...(tls && { connect: tlsConnector(tls) }),
    // The timeouts of undici exclude the wait in the queue and restart with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Less than servers that stop wait for one more request, whatever they announce.
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: idleConnectionMs,
    // While there is always a request, a connection would stay, and processes of the service that are added would get none.
    clientTtl: connectionMs,
    maxResponseSize: maxAnswerBytes,
  });

  async function send(request: Query, context: GatewayContext, caller: Caller): Promise<GraphAnswer> {
    const answer = await sendFor(readAnswer, request, context, caller);
    if (context.heldKey && tookEffect(request, answer)) context.tookEffect = true;
    return answer;
  }

  async function sendFor<T>(read: Read<T>, request: Query, context: GatewayContext, caller: Caller): Promise<T> {
    const { client, connection } = context;
    const { queue, timeoutMs: limitMs } = context.longRunning ? longRunning : usual;
    // AbortSignal.timeout would keep this request in memory for the whole timeout.
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error(`${unit} took longer than ${limitMs} ms`)), limitMs);
    const unsubscribe = connection.onClose(() => {
      // What has begun under a key is finished for its retry, which could not know how far it got.
      if (!context.heldKey || !context.begun) abort.abort(new Error('The client is gone'));
    });
    try {
      abort.signal.throwIfAborted();
      const { begun = false } = context;
      const end = await queue.enter(sharesOf(caller, client, isAttempt(request, caller)), () => abort.signal, begun);
      context.begun = true;
      try {
        return await read(await call(request, context, caller, abort.signal), context.answer);
      } catch (error) {
        if (context.heldKey && !isOneOf(unconnectedCodes, error) && hasMutation(request)) context.lostAnswer = true;
        throw error;
      } finally {
        end();
      }
    } catch (error) {
      const known = asDomainError(unit, error);
      const isUnexpected = known.kind !== 'invalid' && known.kind !== 'tooManyRequests' && !connection.isClosed;
      if (isUnexpected) log.warn({ err: known, subgraph: unit }, 'subgraph call failed');
      throw graphError(known);
    } finally {
      clearTimeout(timer);
      unsubscribe();
    }
  }

  /** Sign-in attempts are the public operations whose throttle fails closed. */
  function isAttempt({ query }: Query, { kind }: Caller): boolean {
    return kind === 'anonymous' && requestedFields(query).some((field) => ruleOf(rules, field)?.throttle?.failsClosed);
  }

  async function call(
    { query, variables, operationName }: Query,
    { heldKey }: GatewayContext,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      [callerHeader]: await callers.mint(heldKey ? { ...caller, idempotencyKey: heldKey.useId } : caller, unit),
    };
    propagation.inject(otel.active(), headers);
    const body = JSON.stringify({ query, variables, operationName });
    const response = await post({ query, headers, body, signal });
    if (response.statusCode !== 200) {
      await response.body.dump();
      throw new DomainError('internal', `${unit} answered ${response.statusCode}`);
    }
    return response;
  }

  async function readAnswer(response: Dispatcher.ResponseData, budget: AnswerBudget): Promise<GraphAnswer> {
    // undici enforces content-length, and reading the whole body is faster than chunks.
    const isAnnounced = takeAnnounced(budget, response);
    return asAnswer(isAnnounced ? await response.body.json() : JSON.parse(String(await readChunks(budget, response))));
  }

  function asAnswer(answer: unknown): GraphAnswer {
    if (!isGraphAnswer(answer)) throw new DomainError('internal', `${unit} answered what is no GraphQL result`);
    return answer;
  }

  /** What was received before execution began. */
  async function readReceived(received: Promise<Buffer>): Promise<GraphAnswer> {
    const bytes = await received;
    try {
      return asAnswer(JSON.parse(bytes.toString()));
    } catch (error) {
      const known = asDomainError(unit, error);
      log.warn({ err: known, subgraph: unit }, 'subgraph call failed');
      throw graphError(known);
    }
  }

  /** A stopping server closes idle connections. Queries are sent again; a mutation is not, because it may have run. */
  async function post({ query, ...message }: Message): Promise<Dispatcher.ResponseData> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await pool.request({ ...message, method: 'POST', path: '/' });
      } catch (error) {
        if (attempt === maxAttempts || !isOneOf(closedCodes, error) || !isRetryable(query, rules)) throw error;
        // Lets the pool notice other connections that the server has closed.
        await nextTurn(undefined, { signal: message.signal });
      }
    }
  }

  /** Sends mutations one by one, each with the caller at that time, and stops at the first one refused. */
  async function sendMutations(
    request: Query,
    context: GatewayContext,
    currentCaller: CurrentCaller,
  ): Promise<GraphAnswer> {
    const sum: GraphAnswer & { data: Record<string, unknown> } = { data: {} };
    for (const { query, fields, responseName } of splitMutations(request.query)) {
      const sent = callerOf(currentCaller, () => fields).then((caller) =>
        send({ ...request, query }, context, caller).finally(() => {
          if (fields.length > 0) currentCaller.markStale();
        }),
      );
      const { data, errors } = await sent.catch((error: unknown): GraphAnswer => {
        if (responseName === undefined || !(error instanceof GraphQLError)) throw error;
        return { data: null, errors: [{ ...error.toJSON(), path: [responseName] }] };
      });
      if (errors) sum.errors = [...(sum.errors ?? []), ...errors];
      if (!data) return { ...sum, data: null };
      Object.assign(sum.data, data);
    }
    return sum;
  }

  return {
    async process(options: GraphQLDataSourceProcessOptions<GatewayContext>) {
      if (!('incomingRequestContext' in options)) throw new Error(`Nobody is asking ${unit} this`);
      const { request, context } = options;
      if (context.received) return readReceived(context.received);
      const asked = { ...request, query: request.query ?? '' };
      const { currentCaller } = context;
      if (!currentCaller) return send(asked, context, context.caller);
      const fields = requestedFields(asked.query);
      if (fields.some((field) => ruleOf(rules, field)?.changesCaller))
        return sendMutations(asked, context, currentCaller);
      return send(asked, context, await callerOf(currentCaller, () => fields));
    },
    unit,
    receive: (request, context) => sendFor(readBytes, request, context, context.caller),
    get waiting() {
      return usual.queue.waiting + longRunning.queue.waiting;
    },
    close: () => pool.close(),
  };
}

interface Message {
  query: string;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

type Read<T> = (response: Dispatcher.ResponseData, budget: AnswerBudget) => Promise<T>;

export type Query = GraphQLDataSourceProcessOptions<GatewayContext>['request'] & { query: string };

async function callerOf(currentCaller: CurrentCaller, fields: () => RootField[]): Promise<Caller> {
  try {
    return await currentCaller.get(fields);
  } catch (error) {
    throw isDomainError(error) ? graphError(error) : error;
  }
}

async function readBytes(response: Dispatcher.ResponseData, budget: AnswerBudget): Promise<Buffer> {
  if (!takeAnnounced(budget, response)) return readChunks(budget, response);
  const { buffer, byteOffset, byteLength } = await response.body.bytes();
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Whether the answer announces its length, and that is left; it is taken then. */
function takeAnnounced(budget: AnswerBudget, { headers }: Dispatcher.ResponseData): boolean {
  budget.parts += 1;
  const announced = Number(headers['content-length'] ?? Number.NaN);
  if (!(announced <= budget.bytesLeft)) return false;
  budget.bytesLeft -= announced;
  return true;
}

async function readChunks(budget: AnswerBudget, { body }: Dispatcher.ResponseData): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) {
    budget.bytesLeft -= chunk.length;
    if (budget.bytesLeft < 0) throw answerTooLarge(); // the throw also destroys the body
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

type GraphAnswer = Awaited<ReturnType<GraphQLDataSource['process']>>;

function isGraphAnswer(answer: unknown): answer is GraphAnswer {
  if (typeof answer !== 'object' || answer === null) return false;
  const { data, errors }: { data?: unknown; errors?: unknown } = answer;
  return typeof data === 'object' ? errors === undefined || Array.isArray(errors) : Array.isArray(errors);
}

function hasMutation({ query, variables }: Query): boolean {
  return runningMutations(query, variables).length > 0;
}

/** The connection closed before any response. */
const closedCodes = new Set<unknown>(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** There was no connection, so nothing was sent. */
const unconnectedCodes = new Set<unknown>([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function isOneOf(codes: Set<unknown>, error: unknown): boolean {
  return error instanceof Error && 'code' in error && codes.has(error.code);
}

function asDomainError(unit: string, error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof errors.ResponseExceededMaxSizeError) {
    return answerTooLarge();
  }
  if (error instanceof SyntaxError) return new DomainError('internal', `${unit} answered no JSON`, { cause: error });
  return unavailable('A part of the service is not available at the moment', error);
}
