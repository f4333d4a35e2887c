import { serviceCaller } from '@parley/kernel/caller';
import { DomainError } from '@parley/kernel/errors';
import { inBatches } from '@parley/kernel/queues/in-batches';
import { within } from '@parley/kernel/timing/timers';
import type { IdentityServiceDefinition, ResolveApiKeyResponse } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';

export interface AskedKey {
  keySha256: Buffer;
  requestId: string;
}

/**
 * Returns the current owner of an API key. @throws DomainError `notFound` if no owner is known; `unavailable` if identity does not respond
 */
export type ApiKeyOwners = (asked: AskedKey) => Promise<ResolveApiKeyResponse>;

/** Timeout of a batch in ms, so that a silent replica delays other keys only briefly. */
const togetherMs = 1_000;

/** Looks up keys at identity, in batches while earlier lookups are in flight. If a batch fails, looks up each key separately. */
export function apiKeyOwners(
  identity: () => Pick<RpcClient<typeof IdentityServiceDefinition>, 'resolveApiKey' | 'resolveApiKeys'>,
): ApiKeyOwners {
  async function alone({ keySha256, requestId }: AskedKey): Promise<ResolveApiKeyResponse> {
    const caller = serviceCaller('gateway', null, requestId);
    return identity().resolveApiKey({ keySha256 }, { caller, expectedErrors: ['notFound'] });
  }

  /** Looks up a batch of keys. Returns undefined if the lookup fails. */
  async function together(asked: AskedKey[]): Promise<Map<string, ResolveApiKeyResponse> | undefined> {
    const [{ requestId } = { requestId: '' }] = asked;
    const keysSha256 = asked.map(({ keySha256 }) => keySha256);
    try {
      const caller = serviceCaller('gateway', null, requestId);
      const { keys } = await identity().resolveApiKeys({ keysSha256 }, { caller, timeoutMs: togetherMs });
      return new Map(keys.flatMap(({ keySha256, owner }) => (owner ? [[nameOf(keySha256), owner]] : [])));
    } catch {
      return undefined;
    }
  }

  return inBatches({ name: 'API keys', atOnce: 2, size: 500 }, async (asked: AskedKey[]) => {
    const found = asked.length > 1 ? await together(asked) : undefined;
    if (found) return asked.map(async (key) => found.get(nameOf(key.keySha256)) ?? Promise.reject(unknown()));
    const owners = asked.map(alone);
    const [first, second] = owners;
    // Waiting for this lookup lets a batch form under load; the timeout bounds the wait for a silent replica.
    if (first && !second) await within(togetherMs, 'looking up an API key', first).catch(() => undefined);
    return owners;
  });
}

const unknown = () => new DomainError('notFound', 'API key not found');

function nameOf(keySha256: Uint8Array): string {
  return Buffer.from(keySha256).toString('base64');
}
