import type { ApolloServerPlugin, GraphQLRequestContext } from '@apollo/server';
import { type DomainError, isDomainError } from '@parley/chassis/errors';
import { graphError } from '@parley/chassis/graph/graph-errors';
import type { Logger } from '@parley/chassis/log';
import type { Metrics } from '@parley/chassis/metrics';
import { GraphQLError } from 'graphql';
import type { Authenticate } from '../credentials/authenticate.ts';
import type { Standing } from '../credentials/standing.ts';
import type { FieldRules } from './field-rules.ts';
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
  rules: FieldRules;
  authenticate: Authenticate;
  standing: Pick<Standing, 'forget'>;
  maxBodyBytes: number;
  metrics: Metrics;
  log: Logger;
}

/** What a valid operation must pass before any of it runs: its body's size, then the credentials of all its root fields. */
export function operationRules(options: OperationRulesOptions): ApolloServerPlugin<GatewayContext> {
  const { rules, authenticate, standing, maxBodyBytes, metrics, log } = options;
  return {
    async requestDidStart() {
      const started = performance.now();
      let fields: RootField[] = [];
      return {
        async didResolveOperation({ document, operation, contextValue }) {
          if (!operation) throw noSuchOperation();
          fields = rootFields(document, operation);
          if (operation.operation === 'subscription') throw subscriptionOverHttp();
          if (contextValue.bodyBytes > maxBodyBytes && !fields.some(({ name }) => longBodies.has(name))) {
            throw bodyTooLarge(maxBodyBytes);
          }
          const { ip = '', requestId } = contextValue.caller;
          try {
            contextValue.caller = await authenticate(fields, contextValue.presented, { ip, requestId });
          } catch (error) {
            if (!isDomainError(error)) throw error;
            if (error.kind === 'internal' || error.kind === 'unavailable') log.warn({ err: error }, 'no caller known');
            throw refusal(error);
          }
        },
        async willSendResponse(request) {
          // What identity changed must hold for this gateway's very next request, announcement or not.
          const changes = ({ type, name }: RootField) =>
            type === 'Mutation' && rules.get(`${type}.${name}`)?.subgraph === 'identity' && mayRevoke(name, request);
          if (fields.some(changes)) standing.forget();
          observe(metrics, fields, request, started);
        },
      };
    },
  };
}

/** Mutations of identity that begin sign-ins and end none: they happen often, and what is remembered outlives them. */
const revokeNothing = new Set(['login', 'register', 'generateOTP', 'validateSecuredToken', 'resetUserPasswordWithUrl']);

/** A refresh token that is taken changes nothing; one that is refused may have ended its sign-in. */
function mayRevoke(name: string, request: GraphQLRequestContext<GatewayContext>): boolean {
  return name === 'refreshToken' ? hasFailed(request) : !revokeNothing.has(name);
}

function hasFailed({ response }: GraphQLRequestContext<GatewayContext>): boolean {
  return response.body?.kind === 'single' && (response.body.singleResult.errors?.length ?? 0) > 0;
}

function observe(
  metrics: Metrics,
  fields: RootField[],
  request: GraphQLRequestContext<GatewayContext>,
  started: number,
) {
  const failed = hasFailed(request);
  const seconds = (performance.now() - started) / 1000;
  for (const { name } of fields)
    metrics.graphDuration.observe({ operation: name, outcome: failed ? 'error' : 'ok' }, seconds);
}

/** An operation that is refused has been answered: HTTP status 200, the error in the body. */
function refusal(error: DomainError): GraphQLError {
  const { message, extensions } = graphError(error);
  return new GraphQLError(message, { extensions: { ...extensions, http: { status: 200 } } });
}

function noSuchOperation(): GraphQLError {
  return new GraphQLError('The document holds no such operation; name one with operationName', {
    extensions: { code: 'OPERATION_RESOLUTION_FAILURE', statusCode: 400, http: { status: 400 } },
  });
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
