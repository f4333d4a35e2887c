import { randomUUID } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import type { Logger } from '@parley/kernel/telemetry/log';
import { retryWhileUnavailable } from '@parley/live/subscriptions/retry-while-unavailable';
import type { ClaimIdempotencyKeyRequest, IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import type { CredentialCalls } from '../credentials/credential-calls.ts';
import { answerNotKept } from './answer-not-kept.ts';

/** What a request with the header `Idempotency-Key` asks for. */
export interface IdempotentRequest {
  key: string;
  /** It may put the sign-in into another tenant, from where its retry comes. */
  inAnyTenant: boolean;
}

/** A key that this gateway has claimed. Its lease is renewed until `end`. */
export interface HeldKey {
  /** `Caller.idempotencyKey` of everything that is done for the request. */
  readonly useId: string;
  /** Keeps what retries are answered; without it they run. Never rejects: what cannot be kept now is kept later. */
  end(answer: Buffer | undefined): Promise<void>;
  /** Retries run once the lease has ended, and not before. */
  leaveToLease(): void;
}

export type ClaimedKey = { answer: Buffer; held?: undefined } | { answer?: undefined; held: HeldKey };

export interface IdempotencyKeys {
  /** @throws DomainError `invalid`, `conflict`, `unavailable`, `tooManyRequests` */
  claim(caller: Caller, asked: Omit<ClaimIdempotencyKeyRequest, 'claimId'>): Promise<ClaimedKey>;
}

export interface IdempotencyKeysOptions {
  identity: () => RpcClient<IdentityServiceDefinition>;
  calls: Pick<CredentialCalls, 'inTurn'>;
  log: Logger;
}

export function idempotencyKeys({ identity, calls, log }: IdempotencyKeysOptions): IdempotencyKeys {
  function hold(caller: Caller, claim: { useId: string; claimId: string }, leaseMs: number): HeldKey {
    const renew = () =>
      identity()
        .renewIdempotencyKey(claim, { caller })
        .catch((error: unknown) => log.warn({ err: error }, 'idempotency key not renewed; will retry'));
    const timer = setInterval(renew, leaseMs / 3).unref();
    const letGo = () => clearInterval(timer);
    return {
      useId: claim.useId,
      leaveToLease: letGo,
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
          letGo();
        }
      },
    };
  }

  return {
    async claim(caller, asked) {
      const claimId = randomUUID();
      const claim = () =>
        identity().claimIdempotencyKey({ ...asked, claimId }, { caller, expectedErrors: ['invalid', 'conflict'] });
      const { useId, leaseMs, result } = await calls.inTurn({ ip: caller.ip ?? '' }, claim);
      return result ? { answer: result } : { held: hold(caller, { useId, claimId }, leaseMs) };
    },
  };
}
