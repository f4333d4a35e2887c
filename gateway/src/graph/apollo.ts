import { ApolloServer } from '@apollo/server';
import { answerWriter } from '@parley/graph/answer-size';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import type { GatewayConfig } from '../config.ts';
import type { Authenticate } from '../credentials/authenticate.ts';
import type { CredentialStatus } from '../credentials/credential-status.ts';
import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import { idempotentRequests } from '../idempotency/idempotent-requests.ts';
import type { Throttle } from '../limits/throttle.ts';
import type { Documents } from './documents.ts';
import type { GatewayContext } from './gateway-context.ts';
import { maskError } from './mask-error.ts';
import { operationRules } from './operation-rules.ts';
import { passedAnswers, passing } from './passed-answers.ts';
import type { Supergraph } from './supergraph.ts';

export interface ApolloOptions {
  config: GatewayConfig;
  supergraph: Supergraph;
  documents: Documents;
  authenticate: Authenticate;
  credentialStatus: CredentialStatus;
  throttle: Throttle;
  keys: IdempotencyKeys;
  metrics: Metrics;
  log: Logger;
}

/** Creates the server that executes queries and mutations. Its plugins check and throttle requests, and store answers for retries. */
export function createApollo(options: ApolloOptions): ApolloServer<GatewayContext> {
  const { config, supergraph, documents, authenticate, credentialStatus, throttle, keys, metrics, log } = options;
  const { introspection, maxAnswerBytes, maxBodyBytes, maxKeptAnswerBytes: maxKeptBytes } = config;
  const { gateway, rules, sourceOf } = supergraph;
  return new ApolloServer<GatewayContext>({
    gateway,
    introspection,
    hideSchemaDetailsFromClientErrors: !introspection,
    persistedQueries: false, // clients could fill the cache
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    documentStore: null, // documents are parsed and cached before Apollo Server runs
    stringifyResult: passing(answerWriter(maxAnswerBytes)),
    logger: log.child({}, { level: 'warn' }),
    formatError: maskError(log),
    plugins: [
      operationRules({
        rules,
        authenticate,
        credentialStatus,
        throttle,
        documents,
        maxBodyBytes,
        maxAnswerBytes,
        metrics,
        log,
      }),
      // The plugins' hooks run in the order of this list, so the stored answer is the one that is sent.
      idempotentRequests({ keys, maxKeptBytes, log }),
      passedAnswers({ rules, sourceOf, maxKeptBytes }),
    ],
  });
}
