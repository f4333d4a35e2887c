import type { Caller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import { untilReached } from '@parley/kernel/until-reached';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';

const caller: Caller = { kind: 'service', service: 'gateway', tenantId: null, requestId: 'readiness' };
/** Short, because the probe of an operator does not wait long. */
const timeoutMs = 1_000;

/**
 * Readiness as `untilReached`, by a call that identity accepts; a later outage leaves the gateway ready. But with another `MESH_KEY` it
 * never gets ready.
 */
export function acceptedByIdentity(
  identity: () => RpcClient<typeof IdentityServiceDefinition>,
  log: Logger,
): () => Promise<void> {
  let isAccepted = false;
  let isReported = false;
  let asked = Promise.resolve();
  const reached = untilReached('identity', () => asked, log);

  async function ask(): Promise<void> {
    await identity().getJwks({}, { caller, timeoutMs, expectedErrors: ['unauthenticated'] });
    isAccepted = true;
  }

  return async () => {
    if (isAccepted) return;
    asked = ask();
    try {
      await asked;
    } catch (error) {
      if (isDomainError(error, 'unauthenticated')) {
        if (!isReported) log.error({ err: error }, 'identity refuses calls; MESH_KEY or clock differs');
        isReported = true;
        throw new Error(
          "identity refuses the calls of this gateway: MESH_KEY is not identity's, or the clocks differ",
          { cause: error },
        );
      }
    }
    await reached();
  };
}
