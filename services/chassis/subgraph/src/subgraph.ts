import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled';
import { buildSubgraphSchema } from '@apollo/subgraph';
import type { GraphQLResolverMap } from '@apollo/subgraph/dist/schema-helper/index.js';
import { expressMiddleware } from '@as-integrations/express5';
import { context as otel, propagation, SpanKind, trace } from '@opentelemetry/api';
import { enforceAccess } from '@parley/graph/access';
import { answerWriter } from '@parley/graph/answer-size';
import { formatGraphError } from '@parley/graph/graph-errors';
import { scalars } from '@parley/graph/scalars';
import { withSharedSdl } from '@parley/graph/shared-sdl';
import { answerBudget, defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { type Caller, type Callers, callerHeader } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';
import { type HttpDrain, httpDrain } from '@parley/kernel/http-drain';
import { listen } from '@parley/kernel/listen';
import type { Logger } from '@parley/kernel/log';
import type { Metrics } from '@parley/kernel/metrics';
import { withRequestId } from '@parley/kernel/request-context';
import type { Part } from '@parley/kernel/unit';
import express from 'express';
import { parse } from 'graphql';
import { type GraphAnswer, graphAnswer } from './graph-answer.ts';

export interface GraphContext {
  /** Who calls, verified. */
  caller: Caller;
  answer: GraphAnswer;
  /** Aborted when the connection closes before the answer. */
  gone: AbortSignal;
}

export interface SubgraphOptions<Context extends GraphContext> {
  /** The unit's name, which is the audience of its callers. */
  unit: string;
  host?: string;
  /** Port to listen on; 0 takes any free one. */
  port: number;
  /** The subgraph's own SDL, without what `shared.graphql` adds; `@access` on every root field. */
  typeDefs: string;
  resolvers: ResolversIn<Context>;
  context: (request: GraphContext) => Context;
  /** The limit of one answer, in bytes; a larger one is `ANSWER_TOO_LARGE`. Default 33,554,432 (32 MiB). */
  maxAnswerBytes?: number;
  callers: Callers;
  log: Logger;
  metrics: Metrics;
  /** Called with the base URL once the server listens. */
  onListening?: (url: string) => void;
}

/** Resolvers by type and field, with this context. Their arguments and results are checked by each service's generated `Resolvers`. */
type ResolversIn<Context> = Record<string, unknown> & {
  [Root in 'Query' | 'Mutation']?: Record<
    string,
    (parent: never, args: never, context: Context, info: never) => unknown
  >;
};

const drainTimeoutMs = 5_000;

/** The GraphQL server of a service, for requests with a verified caller. */
export function subgraph<Context extends GraphContext>(options: SubgraphOptions<Context>): Part {
  const { unit, host = '127.0.0.1', port, callers, log, metrics, maxAnswerBytes = defaultMaxAnswerBytes } = options;
  const tracer = trace.getTracer('parley.graph');
  let apollo: ApolloServer<Context> | undefined;
  let draining: HttpDrain | undefined;

  return {
    name: `${unit} graph`,
    async start() {
      const schema = enforceAccess<Context>(
        buildSubgraphSchema({
          typeDefs: parse(withSharedSdl(options.typeDefs)),
          resolvers: { ...scalars, ...options.resolvers } as GraphQLResolverMap<unknown>,
        }),
      );
      apollo = new ApolloServer<Context>({
        schema,
        introspection: false,
        includeStacktraceInErrorResponses: false,
        csrfPrevention: false, // a browser cannot have a caller token
        formatError: formatGraphError(log),
        stringifyResult: answerWriter(maxAnswerBytes),
        stopOnTerminationSignals: false,
        plugins: [ApolloServerPluginInlineTraceDisabled(), observed<Context>(metrics)],
      });
      await apollo.start();

      const app = express().disable('x-powered-by').disable('etag');
      app.use(async (request, response, next) => {
        try {
          response.locals.caller = await callers.verify(request.header(callerHeader), unit);
        } catch (error) {
          if (!isDomainError(error)) return next(error);
          return void response.status(401).json({ errors: [{ message: error.message }] });
        }
        const parent = propagation.extract(otel.active(), request.headers);
        const span = tracer.startSpan(`${unit} graph`, { kind: SpanKind.SERVER }, parent);
        response.once('close', () => span.end());
        otel.with(trace.setSpan(parent, span), () => withRequestId(response.locals.caller.requestId, next));
      });
      app.use(express.json({ limit: '9mb' }));
      const context = async ({ res }: { res: express.Response }) =>
        options.context({
          caller: res.locals.caller as Caller,
          answer: graphAnswer(answerBudget(maxAnswerBytes)),
          gone: goneSignal(res),
        });
      app.use(expressMiddleware(apollo, { context }));

      const http = createServer({ keepAliveTimeout: 65_000 }, app);
      draining = httpDrain(http);
      await listen(http, port, host);
      options.onListening?.(`http://${host}:${(http.address() as AddressInfo).port}`);
    },
    async stop() {
      await draining?.drain(drainTimeoutMs);
      await apollo?.stop();
    },
  };
}

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (response.closed) gone.abort(); // closed while the body or the caller was read
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

function observed<Context extends GraphContext>(metrics: Metrics) {
  return {
    async requestDidStart() {
      const started = performance.now();
      return {
        async willSendResponse({
          operation,
          response,
        }: import('@apollo/server').GraphQLRequestContextWillSendResponse<Context>) {
          // The gateway reads the errors of responses with 200 only.
          response.http.status = 200;
          const failed = response.body.kind === 'single' && (response.body.singleResult.errors?.length ?? 0) > 0;
          const seconds = (performance.now() - started) / 1000;
          for (const selection of operation?.selectionSet.selections ?? []) {
            if (selection.kind !== 'Field') continue;
            metrics.graphDuration.observe(
              { operation: selection.name.value, outcome: failed ? 'error' : 'ok' },
              seconds,
            );
          }
        },
      };
    },
  };
}
