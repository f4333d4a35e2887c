import { badRequest } from '@parley/kernel/errors';
import { keyInProgress } from '@parley/kernel/idempotency';
import type { IdentityServiceImplementation } from '@parley/protos/parley/identity/v1/identity';
import type { MeshContext } from '@parley/rpc/server';

interface Use {
  useId: string;
  request: string;
  claimId: string | undefined;
  result: Buffer | undefined;
}

/** The idempotency keys of an in-memory identity service. Tests control when leases expire. */
export interface IdempotencyScript {
  leaseMs: number;
  /** Ids of claims whose lease was renewed, one entry for each renewal. */
  renewed: string[];
  /** Claims that have ended, with a result or without. */
  ended: { claimId: string; result: string | undefined }[];
  /** Awaited before a claim ends; an error thrown here fails the call. */
  beforeEnd: () => Promise<void>;
  endLeases(): void;
}

type Rpc = Pick<
  IdentityServiceImplementation<MeshContext>,
  'claimIdempotencyKey' | 'renewIdempotencyKey' | 'endIdempotencyKey'
>;

export function idempotencyScript(answer: (question: string) => void): { script: IdempotencyScript; rpc: Rpc } {
  const uses = new Map<string, Use>();
  const script: IdempotencyScript = {
    leaseMs: 30_000,
    renewed: [],
    ended: [],
    beforeEnd: async () => undefined,
    endLeases() {
      for (const use of uses.values()) use.claimId = undefined;
    },
  };
  const rpc: Rpc = {
    async claimIdempotencyKey({ key, requestSha256, claimId, inAnyTenant }, { caller }) {
      answer(`claim ${key}`);
      const { kind, signInId, apiKeyId, sessionId } = caller;
      const scope = [inAnyTenant ? null : caller.tenantId, kind, signInId, apiKeyId, sessionId, key].join();
      const request = requestSha256.toString('hex');
      const use = uses.get(scope) ?? { useId: `use-${uses.size}`, request, claimId: undefined, result: undefined };
      uses.set(scope, use);
      if (use.request !== request) throw badRequest('used for another request', 'IDEMPOTENCY_KEY_REUSED');
      if (use.claimId !== undefined) throw keyInProgress();
      if (use.result === undefined) use.claimId = claimId;
      return { useId: use.useId, leaseMs: script.leaseMs, result: use.result };
    },
    async renewIdempotencyKey({ claimId }) {
      script.renewed.push(claimId);
      return {};
    },
    async endIdempotencyKey({ useId, claimId, result }) {
      answer('end');
      await script.beforeEnd();
      script.ended.push({ claimId, result: result?.toString() });
      for (const use of uses.values()) {
        if (use.useId === useId && use.claimId === claimId) Object.assign(use, { claimId: undefined, result });
      }
      return {};
    },
  };
  return { script, rpc };
}
