import { randomUUID } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import type { Logger } from '@parley/kernel/telemetry/log';
import { retryWhileUnavailable } from '@parley/live/subscriptions/retry-while-unavailable';
import type { ClaimIdempotencyKeyRequest, IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import type { CredentialCalls } from '../credentials/credential-calls.ts';
import { answerNotKept } from './answer-not-kept.ts';

/** A request with the header `Idempotency-Key`. */
export interface IdempotentRequest {
  key: string;
  /** Whether the request may switch the sign-in to another tenant, so that a retry may come from the new tenant. */
  inAnyTenant: boolean;
}

/** A key that this gateway has claimed. Its lease is renewed until `end`. */
export interface HeldKey {
  /** The `Caller.idempotencyKey` of all calls made for the request. */
  readonly useId: string;
  /**
   * Stores the answer, which is returned to retries of the request. If the answer is undefined, a retry executes the request again. Never
   * rejects: if storing fails, it is tried again in the background.
   */
  end(answer: Buffer | undefined): Promise<void>;
  /** Stops renewing the lease, so retries can run only after it expires. */
  leaveToLease(): void;
}

export type ClaimedKey = { answer: Buffer; held?: undefined } | { answer?: undefined; held: HeldKey };

export interface IdempotencyKeys {
  /**
   * Claims the key of a request, or returns the stored answer of the request that used the key first.
   * @throws DomainError `invalid` if the key was used for a different request
   * @throws DomainError `conflict` while the request that used the key first is still running
   * @throws DomainError `unavailable` or `tooManyRequests` if identity cannot take the call
   */
  claim(caller: Caller, asked: Omit<ClaimIdempotencyKeyRequest, 'claimId'>): Promise<ClaimedKey>;
}

export interface IdempotencyKeysOptions {
  identity: () => RpcClient<IdentityServiceDefinition>;
  calls: Pick<CredentialCalls, 'queued'>;
  log: Logger;
}

export function idempotencyKeys({ identity, calls, log }: IdempotencyKeysOptions): IdempotencyKeys {
  function hold(caller: Caller, claim: { useId: string; claimId: string }, leaseMs: number): HeldKey {
    const renew = () =>
      identity()
        .renewIdempotencyKey(claim, { caller })
        .catch((error: unknown) => log.warn({ err: error }, 'idempotency key not renewed; will retry'));
    const timer = setInterval(renew, leaseMs / 3).unref();
    const stopRenewing = () => clearInterval(timer);
    return {
      useId: claim.useId,
      leaveToLease: stopRenewing,
      async end(result) {
        const send = () => identity().endIdempotencyKey({ ...claim, result, resultInPlace: answerNotKept }, { caller });
        try {
          await send();
        } catch (error) {
          log.warn({ err: error }, 'end of an idempotent request not stored; will retry');
          if (!result) return;
          void retryWhileUnavailable(send).catch((cause: unknown) =>
            log.error({ err: cause }, 'answer of an idempotent request not stored; a retry would run again'),
          );
        } finally {
          stopRenewing();
        }
      },
    };
  }

  return {
    async claim(caller, asked) {
      const claimId = randomUUID();
      const claim = () =>
        identity().claimIdempotencyKey({ ...asked, claimId }, { caller, expectedErrors: ['invalid', 'conflict'] });
      const { useId, leaseMs, result } = await calls.queued({ ip: caller.ip ?? '' }, claim);
      return result ? { answer: result } : { held: hold(caller, { useId, claimId }, leaseMs) };
    },
  };
}
