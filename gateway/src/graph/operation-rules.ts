import type { ApolloServerPlugin, GraphQLRequestContext } from '@apollo/server';
import type { Metrics } from '@parley/chassis/metrics';
import { graphError } from '@parley/chassis/graph/graph-errors';
import { isDomainError } from '@parley/chassis/errors';
import { GraphQLError } from 'graphql';
import type { Authenticate } from '../credentials/authenticate.ts';
import type { SignIns } from '../credentials/sign-ins.ts';
import type { GatewayContext } from './gateway-context.ts';
import { type RootField, rootFields } from './root-fields.ts';

/** The operations that carry long texts, audio or images, and so may have a longer body. */
const longBodies = new Set([
  'ingestDocument',
  'updateKnowledgeDocumentText',
  'transcribeSpeech',
  'generateText',
  'startTextGeneration',
]);

export interface OperationRulesOptions {
  authenticate: Authenticate;
  signIns: SignIns;
  maxBodyBytes: number;
  metrics: Metrics;
}

/** What a valid operation must pass before any of it runs: its body's size, then the credentials of all its root fields. */
export function operationRules(options: OperationRulesOptions): ApolloServerPlugin<GatewayContext> {
  const { authenticate, signIns, maxBodyBytes, metrics } = options;
  return {
    async requestDidStart() {
      const started = performance.now();
      let fields: RootField[] = [];
      return {
        async didResolveOperation({ document, operation, contextValue }) {
          if (!document || !operation) return; // Apollo refuses it by itself
          fields = rootFields(document, operation);
          if (operation.operation === 'subscription') throw subscriptionOverHttp();
          if (contextValue.bodyBytes > maxBodyBytes && !fields.some(({ name }) => longBodies.has(name))) {
            throw bodyTooLarge(maxBodyBytes);
          }
          const { ip = '', requestId } = contextValue.caller;
          try {
            contextValue.caller = await authenticate(fields, contextValue.presented, { ip, requestId });
          } catch (error) {
            throw isDomainError(error) ? graphError(error) : error;
          }
        },
        async willSendResponse(request) {
          // What this request changed must hold for this gateway's very next one, announcement or not.
          if (request.operation?.operation === 'mutation' && request.contextValue.caller.kind === 'user') signIns.forget();
          observe(metrics, fields, request, started);
        },
      };
    },
  };
}

function observe(metrics: Metrics, fields: RootField[], request: GraphQLRequestContext<GatewayContext>, started: number) {
  const body = request.response.body;
  const failed = body?.kind === 'single' && (body.singleResult.errors?.length ?? 0) > 0;
  const seconds = (performance.now() - started) / 1000;
  for (const { name } of fields) metrics.graphDuration.observe({ operation: name, outcome: failed ? 'error' : 'ok' }, seconds);
}

function subscriptionOverHttp(): GraphQLError {
  return new GraphQLError('Subscriptions are served over WebSocket (graphql-ws) at this address', {
    extensions: { code: 'BAD_REQUEST', statusCode: 400, http: { status: 400 } },
  });
}

function bodyTooLarge(limit: number): GraphQLError {
  return new GraphQLError(`The body is larger than ${limit} bytes`, {
    extensions: { code: 'BAD_REQUEST', statusCode: 413, http: { status: 413 } },
  });
}
