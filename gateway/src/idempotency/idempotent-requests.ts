import type { ApolloServerPlugin, GraphQLResponse } from '@apollo/server';
import { HeaderMap } from '@apollo/server';
import { graphError } from '@parley/graph/graph-errors';
import { DomainError, invalid, isDomainError } from '@parley/kernel/errors';
import { idempotencyKeyProblem } from '@parley/kernel/idempotency';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { FormattedExecutionResult } from 'graphql';
import { type FieldRules, ruleOf } from '../graph/field-rules.ts';
import type { GatewayContext } from '../graph/gateway-context.ts';
import type { RootField } from '../graph/root-fields.ts';
import type { IdempotencyKeys, IdempotentRequest } from './idempotency-keys.ts';
import { answerToKeep } from './kept-answer.ts';
import { requestSha256 } from './request-sha256.ts';

/**
 * Returns the key of a request. Returns undefined without a key, or if the key has no meaning because the caller is anonymous or the
 * request has no effect.
 * @throws DomainError `invalid` if the header is repeated or its key is malformed
 */
export function idempotentRequest(
  { idempotencyKeys: [key, ...more], caller }: Pick<GatewayContext, 'idempotencyKeys' | 'caller'>,
  fields: RootField[],
  rules: FieldRules,
): IdempotentRequest | undefined {
  if (key === undefined || caller.kind === 'anonymous') return undefined;
  const hasEffect = fields.some((field) => field.type === 'Mutation' || ruleOf(rules, field)?.sentOnce);
  if (!hasEffect) return undefined;
  const problem = more.length > 0 ? 'must be sent once' : idempotencyKeyProblem(key);
  if (problem) throw invalid({ path: 'Idempotency-Key', message: problem });
  return { key, inAnyTenant: fields.some((field) => ruleOf(rules, field)?.changesTenant) };
}

export interface IdempotentRequestsOptions {
  keys: IdempotencyKeys;
  maxKeptBytes: number;
  log: Logger;
}

/**
 * Creates the plugin that stores the answer of a request with an idempotency key, and replays it to retries. Register the plugin after
 * every plugin that may refuse a request.
 */
export function idempotentRequests({
  keys,
  maxKeptBytes,
  log,
}: IdempotentRequestsOptions): ApolloServerPlugin<GatewayContext> {
  return {
    async requestDidStart({ contextValue }) {
      if (contextValue.idempotencyKeys.length === 0) return undefined;
      return {
        async responseForOperation({ contextValue: context, request }) {
          if (!context.idempotent) return null;
          try {
            const asked = { ...context.idempotent, requestSha256: requestSha256(request) };
            const { answer, held } = await keys.claim(context.caller, asked);
            if (answer) return answered(JSON.parse(answer.toString()));
            context.heldKey = held;
            return null;
          } catch (error) {
            return answered({ errors: [graphError(refusal(error)).toJSON()] });
          }
        },

        async willSendResponse({ contextValue: { heldKey, tookEffect = false, lostAnswer }, response: { body } }) {
          if (!heldKey) return;
          const answer = body?.kind === 'single' ? body.singleResult : {};
          const kept = answerToKeep(answer, { maxBytes: maxKeptBytes, tookEffect });
          if (lostAnswer && !kept) heldKey.leaveToLease();
          else await heldKey.end(kept);
        },
      };
    },
  };

  function refusal(error: unknown): DomainError {
    const known = isDomainError(error) ? error : new DomainError('internal', 'claim failed', { cause: error });
    if (known.kind === 'internal' || known.kind === 'unavailable')
      log.warn({ err: known }, 'idempotency key not claimed');
    return known;
  }
}

function answered(singleResult: FormattedExecutionResult): GraphQLResponse {
  return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult } };
}
