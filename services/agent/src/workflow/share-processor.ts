import { setImmediate } from 'node:timers/promises';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { fairQueue } from '@parley/kernel/fair-queue';

/** All evaluations and checks of this process, which has one thread for them. */
const queue = fairQueue({ inFlight: 4, shares: { tenant: { inFlight: 2 } } });

/** Runs synchronous work of a tenant after other work of the process that waits. At most two pieces of a tenant run before others have their turn. */
export async function shareProcessor<Result>(
  { caller, signal }: Pick<TenantRequest, 'caller' | 'signal'>,
  work: () => Result,
): Promise<Result> {
  const release = await queue.enter({ tenant: caller.tenantId }, () => signal);
  try {
    await setImmediate();
    return work();
  } finally {
    release();
  }
}
