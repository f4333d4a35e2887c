import { type ApolloServerPlugin, type GraphQLRequestContext, HeaderMap } from '@apollo/server';
import { isLargerThan } from '@parley/graph/answer-size';
import { graphError, graphOutcome } from '@parley/graph/graph-errors';
import { answerTooLarge } from '@parley/kernel/answer-budget';
import type { Caller } from '@parley/kernel/caller';
import type { Outcome } from '@parley/kernel/error-table';
import { type DomainError, isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { GraphQLError } from 'graphql';
import type { Authenticate } from '../credentials/authenticate.ts';
import type { CredentialStatus } from '../credentials/credential-status.ts';
import { createCurrentCaller } from '../credentials/current-caller.ts';
import { invalidateStatusOf } from '../credentials/invalidate-status.ts';
import { idempotentRequest } from '../idempotency/idempotent-requests.ts';
import { refusedInput, refusedVariables } from '../limits/input-values.ts';
import { type Throttle, throttleHeaders, throttleMessage } from '../limits/throttle.ts';
import type { Documents } from './documents.ts';
import { type FieldRules, longRunning, ruleOf } from './field-rules.ts';
import type { GatewayContext } from './gateway-context.ts';
import { type RootField, rootFields } from './root-fields.ts';

export interface OperationRulesOptions {
  rules: FieldRules;
  authenticate: Authenticate;
  credentialStatus: Pick<CredentialStatus, 'invalidate'>;
  throttle: Throttle;
  documents: Pick<Documents, 'checkVariables'>;
  maxBodyBytes: number;
  maxAnswerBytes: number;
  metrics: Metrics;
  log: Logger;
}

/** Checks body size, values and credentials, and last the rate limits, so that only operations that run are counted. */
export function operationRules(options: OperationRulesOptions): ApolloServerPlugin<GatewayContext> {
  const { rules, authenticate, credentialStatus, throttle, documents, maxBodyBytes, maxAnswerBytes, metrics, log } =
    options;

  const invalidate = (caller: Caller) => invalidateStatusOf([caller], credentialStatus);

  async function holdToThrottles(fields: RootField[], ip: string, headers: Map<string, string>): Promise<void> {
    const throttled = await throttle(fields, ip).catch((error: unknown) => {
      throw isDomainError(error) ? refusal(error) : error;
    });
    if (!throttled) return;
    for (const [name, value] of throttleHeaders(throttled)) headers.set(name, value);
    if (!throttled.refused) return;
    throw new GraphQLError(throttleMessage(throttled.refused), {
      extensions: { code: 'TOO_MANY_REQUESTS', statusCode: 429, http: { status: 429, headers: new HeaderMap() } },
    });
  }

  function invalidateChanged(request: GraphQLRequestContext<GatewayContext>, fields: RootField[]): void {
    const failed = outcomeOf(request) !== 'ok';
    const revoking = fields
      .map((field) => ruleOf(rules, field))
      .filter((rule) => rule?.changesCaller === 'always' || (rule?.changesCaller === 'failing' && failed));
    if (revoking.length === 0) return;
    const { caller, currentCaller } = request.contextValue;
    // The caller of a public mutation is anonymous, so it is unknown which user the mutation changes.
    if (revoking.some((rule) => rule?.by.length === 0)) credentialStatus.invalidate(undefined);
    else invalidateStatusOf(currentCaller?.seen() ?? [caller], credentialStatus);
  }

  return {
    async requestDidStart() {
      const started = performance.now();
      let fields: RootField[] = [];
      let isAdmitted = false;
      return {
        async didResolveSource(request) {
          // If the document is set here, Apollo Server does not parse and validate it again.
          Object.assign(request, { document: request.contextValue.read?.document });
        },
        async didResolveOperation({ document, operation, contextValue, request, response }) {
          const { read } = contextValue;
          if (document !== read?.document) throw new Error('A document is to run that was never held to the limits');
          if (!operation) throw noSuchOperation();
          fields = rootFields(document, operation);
          contextValue.facts.operations = [...new Set(fields.map(({ name }) => name))];
          if (operation.operation === 'subscription') throw subscriptionOverHttp();
          if (contextValue.bodyBytes > maxBodyBytes && !fields.some((field) => ruleOf(rules, field)?.longBody)) {
            throw bodyTooLarge(maxBodyBytes);
          }
          const refused = [...read.refusedLiterals, ...refusedVariables(document, request.variables)];
          if (refused.length > 0) {
            throw refusal(refusedInput(refused), refused.some(({ malformed }) => malformed) ? 400 : 200);
          }
          // Variables are checked before execution, so that an invalid request needs no authentication and does not count toward rate
          // limits.
          const [wrong] = documents.checkVariables(operation, request.variables);
          if (wrong) {
            wrong.extensions.http = { status: 400 };
            throw wrong;
          }
          const { ip = '', requestId } = contextValue.caller;
          const { credentials } = contextValue;
          try {
            contextValue.caller = await authenticate(fields, credentials, { ip, requestId });
            contextValue.idempotent = idempotentRequest(contextValue, fields, rules);
            if (fields.some((field) => ruleOf(rules, field)?.changesCaller)) {
              const { caller: first } = contextValue;
              const ask = (asked: RootField[]) => authenticate(asked, credentials, { ip, requestId }, true);
              contextValue.currentCaller = createCurrentCaller({ first, fields, ask, invalidate });
            }
          } catch (error) {
            if (!isDomainError(error)) throw error;
            if (error.kind === 'internal' || error.kind === 'unavailable')
              log.warn({ err: error }, 'caller lookup failed');
            throw refusal(error);
          }
          if (fields.some((field) => ruleOf(rules, field)?.throttle)) {
            await holdToThrottles(fields, ip, response.http.headers);
          }
          contextValue.longRunning = longRunning(rules, fields);
          isAdmitted = true;
        },
        async willSendResponse(request) {
          boundAnswer(request, maxAnswerBytes);
          // The next request to this gateway must see the change that a mutation made, even if the announcement of the change is lost.
          if (isAdmitted) invalidateChanged(request, fields);
          request.contextValue.facts.failed = outcomeOf(request) !== 'ok';
          observe(metrics, fields, request, started);
        },
      };
    },
  };
}

function outcomeOf({ response }: GraphQLRequestContext<GatewayContext>): Outcome {
  return graphOutcome(response.body?.kind === 'single' ? response.body.singleResult.errors : []);
}

function observe(
  metrics: Metrics,
  fields: RootField[],
  request: GraphQLRequestContext<GatewayContext>,
  started: number,
) {
  const outcome = outcomeOf(request);
  const seconds = (performance.now() - started) / 1000;
  for (const { name } of fields) metrics.graphDuration.observe({ operation: name, outcome }, seconds);
}

/**
 * Bounds an answer composed of several subgraph responses. A single response was bounded while it was read. An object that occurs many
 * times can enlarge the answer to at most the square of the bytes read.
 */
function boundAnswer({ response, contextValue }: GraphQLRequestContext<GatewayContext>, maxBytes: number): void {
  const { body } = response;
  const { parts, remainingBytes } = contextValue.answer;
  if (body?.kind !== 'single' || parts < 2 || (maxBytes - remainingBytes) ** 2 < maxBytes) return;
  if (isLargerThan(body.singleResult.data, maxBytes))
    body.singleResult = { errors: [graphError(answerTooLarge()).toJSON()] };
}

function refusal(error: DomainError, status: 200 | 400 = 200): GraphQLError {
  const { message, extensions } = graphError(error);
  return new GraphQLError(message, { extensions: { ...extensions, http: { status } } });
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
