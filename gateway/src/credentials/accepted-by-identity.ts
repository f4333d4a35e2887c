import type { Caller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { untilReached } from '@parley/kernel/timing/until-reached';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';

const caller: Caller = { kind: 'service', service: 'gateway', tenantId: null, requestId: 'readiness' };
/** Timeout of one check in ms, shorter than that of readiness probes, which is 1 s by default in Kubernetes. */
const timeoutMs = 500;

const refused = "identity refuses the calls of this gateway: MESH_KEY is not identity's, or the clocks differ";

/**
 * Checks readiness like `untilReached`, but identity must also accept the gateway's call. With a wrong `MESH_KEY`, the gateway therefore
 * never becomes ready.
 */
export function acceptedByIdentity(
  identity: () => RpcClient<typeof IdentityServiceDefinition>,
  log: Logger,
): () => Promise<void> {
  let isReady = false;
  let isReported = false;
  let asked = Promise.resolve();
  const reached = untilReached('identity', () => asked, log);

  return async () => {
    if (isReady) return;
    asked = identity()
      .getJwks({}, { caller, timeoutMs, expectedErrors: ['unauthenticated'] })
      .then(() => undefined);
    const error = await asked.catch((reason: unknown) => reason);
    if (isDomainError(error, 'unauthenticated')) {
      if (!isReported) log.error({ err: error }, 'identity refuses calls; MESH_KEY or clock differs');
      isReported = true;
      throw new Error(refused, { cause: error });
    }
    await reached();
    isReady = true;
  };
}
