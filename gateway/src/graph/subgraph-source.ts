import type { GraphQLDataSource, GraphQLDataSourceProcessOptions } from '@apollo/gateway';
import { context as otel, propagation } from '@opentelemetry/api';
import { graphError } from '@parley/graph/graph-errors';
import { answerTooLarge } from '@parley/kernel/answer-budget';
import { type Caller, type Callers, callerHeader } from '@parley/kernel/caller';
import { DomainError, isDomainError, unavailable } from '@parley/kernel/errors';
import { type FairQueue, type FairQueueLimits, fairQueue, type Release } from '@parley/kernel/queues/fair-queue';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { MeshTls } from '@parley/kernel/tls/mesh';
import { GraphQLError } from 'graphql';
import { type Dispatcher, errors } from 'undici';
import type { CurrentCaller } from '../credentials/current-caller.ts';
import { tookEffect } from '../idempotency/took-effect.ts';
import type { FoundNetwork, KnownNetworks } from '../limits/known-networks.ts';
import { type FieldRules, ruleOf } from './field-rules.ts';
import type { GatewayContext } from './gateway-context.ts';
import type { AnswerBudget } from './read-answer.ts';
import { readBytes, readJson } from './read-answer.ts';
import type { RootField } from './root-fields.ts';
import { requestedFields, runningMutations, splitMutations } from './split-mutations.ts';
import { subgraphConnections, wasNotSent } from './subgraph-connections.ts';
import { type Attempt, attemptLimits, attemptSharesOf, type SubgraphShare, sharesOf } from './subgraph-share.ts';

export interface SubgraphSourceOptions {
  /** The service that owns the subgraph. Caller tokens are issued for this audience. */
  unit: string;
  url: string;
  rules: FieldRules;
  callers: Callers;
  knownNetworks: KnownNetworks;
  tls: MeshTls | undefined;
  /** Time limit in ms from entering the queue to the last byte of the response. */
  timeoutMs: number;
  /** Interval in ms at which the name in `url` is resolved again. */
  lookupIntervalMs: number;
  /** Maximum age of a connection in ms. */
  connectionMs: number;
  calls: FairQueueLimits<SubgraphShare>;
  /** Limits for requests with a field that may take minutes. */
  long: { timeoutMs: number; calls: FairQueueLimits<SubgraphShare> };
  maxAnswerBytes: number;
  log: Logger;
}

/** Calls a subgraph over pooled HTTP connections. The fetcher of `@apollo/gateway` would cause half of the cost of a federated query. */
export interface SubgraphSource extends GraphQLDataSource<GatewayContext> {
  readonly unit: string;
  /** Returns the raw bytes of the answer to a query. @throws the same errors as `process` */
  receive(request: Query, context: GatewayContext): Promise<Buffer>;
  readonly waiting: number;
  close(): Promise<void>;
}

export function subgraphSource({
  unit,
  url,
  rules,
  callers,
  knownNetworks,
  tls,
  timeoutMs,
  lookupIntervalMs,
  connectionMs,
  calls,
  long,
  maxAnswerBytes,
  log,
}: SubgraphSourceOptions): SubgraphSource {
  // These queues are fair. The connection pool's own queue is first in, first out, so one client could fill it.
  const usual = fairQueue(calls);
  const longRunning = fairQueue(long.calls);
  const attempts = { new: fairQueue(attemptLimits(calls)), known: fairQueue(attemptLimits(calls)) };
  const longAttempts = { new: fairQueue(attemptLimits(long.calls)), known: fairQueue(attemptLimits(long.calls)) };
  /** Queues for the fields that have their own limit, keyed by `callsPerTenant`. */
  const boundQueues = new Map<number, FairQueue<SubgraphShare>>();
  const connections = subgraphConnections({
    url,
    rules,
    tls,
    connections: calls.inFlight === undefined ? undefined : calls.inFlight + (long.calls.inFlight ?? 0),
    lookupIntervalMs,
    connectionMs,
    maxAnswerBytes,
    onUnreached: (origin, err) => log.warn({ err, subgraph: unit, origin }, 'subgraph address not reached'),
  });

  async function send(request: Query, context: GatewayContext, caller: Caller): Promise<GraphAnswer> {
    const network = await networkOf(request, context, caller);
    const answer = await sendFor(readAnswer, request, context, caller, network);
    if (context.heldKey && tookEffect(request, answer)) context.tookEffect = true;
    if (network && signsIn(request, answer)) network.signedIn();
    return answer;
  }

  /** @param network the result of `networkOf` */
  async function sendFor<T>(
    read: Read<T>,
    request: Query,
    context: GatewayContext,
    caller: Caller,
    network: FoundNetwork | undefined,
  ): Promise<T> {
    const { connection } = context;
    const limitMs = context.longRunning ? long.timeoutMs : timeoutMs;
    // AbortSignal.timeout would keep this request in memory for the whole timeout.
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error(`${unit} took longer than ${limitMs} ms`)), limitMs);
    const unsubscribe = connection.onClose(() => {
      // A request that has an idempotency key and has begun runs to its end, because a retry could not know which parts have taken effect.
      if (!context.heldKey || !context.begun) abort.abort(new Error('The client disconnected'));
    });
    try {
      abort.signal.throwIfAborted();
      const attempt = network && (network.isKnown ? 'known' : 'new');
      const end = await enterAll(entriesOf(context, caller, attempt), abort.signal, context.begun);
      context.begun = true;
      try {
        return await read(await call(request, context, caller, abort.signal), context.answer);
      } catch (error) {
        if (context.heldKey && !wasNotSent(error) && hasMutation(request)) context.lostAnswer = true;
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

  /** Returns the queues that a call passes, in order. */
  function entriesOf(context: GatewayContext, caller: Caller, attempt: Attempt | undefined): Enter[] {
    const shares = sharesOf(caller, context.client, attempt);
    const entries = queuesOf(context).map(
      (queue): Enter =>
        (...how) =>
          queue.enter(shares, ...how),
    );
    if (!attempt) return entries;
    const queue = (context.longRunning ? longAttempts : attempts)[attempt];
    return [(...how) => queue.enter(attemptSharesOf(context.client), ...how), ...entries];
  }

  function queuesOf({ longRunning: isLong }: GatewayContext): FairQueue<SubgraphShare>[] {
    if (!isLong) return [usual];
    const { callsPerTenant } = isLong;
    return callsPerTenant === undefined ? [longRunning] : [boundQueueOf(callsPerTenant), longRunning];
  }

  function boundQueueOf(callsPerTenant: number): FairQueue<SubgraphShare> {
    const known = boundQueues.get(callsPerTenant);
    if (known) return known;
    const { shares, ...all } = long.calls;
    const bound = { ...shares.tenant, inFlight: callsPerTenant };
    const queue = fairQueue<SubgraphShare>({
      ...all,
      inFlight: Number.POSITIVE_INFINITY,
      shares: {
        address: { ...shares.address, inFlight: Number.POSITIVE_INFINITY },
        tenant: bound,
        user: bound,
        anonymous: bound,
      },
    });
    boundQueues.set(callsPerTenant, queue);
    return queue;
  }

  /** Looks up the client's network if the request attempts to sign in. */
  async function networkOf(request: Query, { client }: GatewayContext, caller: Caller) {
    return isAttempt(request, caller) ? knownNetworks.find(client) : undefined;
  }

  /** Reports whether a request attempts to sign in. Such a request selects a public field whose throttle fails closed. */
  function isAttempt({ query }: Query, { kind }: Caller): boolean {
    return kind === 'anonymous' && requestedFields(query).some((field) => ruleOf(rules, field)?.throttle?.failsClosed);
  }

  /** Reports whether the answer contains the result of a successful sign-in. */
  function signsIn({ query, variables }: Query, { data }: GraphAnswer): boolean {
    return runningMutations(query, variables).some(
      (field) => ruleOf(rules, field)?.signsIn && (data?.[field.responseName] ?? null) !== null,
    );
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
    const response = await connections.post({ query, headers, body, signal });
    if (response.statusCode !== 200) {
      await response.body.dump();
      throw new DomainError('internal', `${unit} answered ${response.statusCode}`);
    }
    return response;
  }

  const readAnswer: Read<GraphAnswer> = async (response, budget) => asAnswer(await readJson(response, budget));

  function asAnswer(answer: unknown): GraphAnswer {
    if (!isGraphAnswer(answer)) throw new DomainError('internal', `${unit} answered what is no GraphQL result`);
    return answer;
  }

  /** Parses the response that was received before execution began. */
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

  /**
   * Sends mutations one by one, each with the caller as known at that time. Stops after a mutation that returns no data, for example
   * because it is refused.
   */
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
    async receive(request, context) {
      const { caller } = context;
      return sendFor(readBytes, request, context, caller, await networkOf(request, context, caller));
    },
    get waiting() {
      const ofAttempts = [attempts, longAttempts].flatMap((queues) => [queues.new, queues.known]);
      return [usual, longRunning, ...boundQueues.values(), ...ofAttempts].reduce(
        (sum, { waiting }) => sum + waiting,
        0,
      );
    },
    close: () => connections.close(),
  };
}

/** Enters a queue for one call, like `FairQueue.enter`. */
type Enter = (signal: () => AbortSignal, continues: boolean) => Release | Promise<Release>;

/** Enters the queues one after the other. Releases the slots already taken if a queue refuses. */
async function enterAll(entries: Enter[], signal: AbortSignal, begun = false): Promise<Release> {
  const ends: Release[] = [];
  const end = () => ends.forEach((leave) => leave());
  try {
    for (const enter of entries) ends.push(await enter(() => signal, begun));
    return end;
  } catch (error) {
    end();
    throw error;
  }
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

type GraphAnswer = Awaited<ReturnType<GraphQLDataSource['process']>>;

function isGraphAnswer(answer: unknown): answer is GraphAnswer {
  if (typeof answer !== 'object' || answer === null) return false;
  const { data, errors }: { data?: unknown; errors?: unknown } = answer;
  return typeof data === 'object' ? errors === undefined || Array.isArray(errors) : Array.isArray(errors);
}

function hasMutation({ query, variables }: Query): boolean {
  return runningMutations(query, variables).length > 0;
}

function asDomainError(unit: string, error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof errors.ResponseExceededMaxSizeError) {
    return answerTooLarge();
  }
  if (error instanceof SyntaxError) return new DomainError('internal', `${unit} answered no JSON`, { cause: error });
  return unavailable('A part of the service is not available at the moment', error);
}
