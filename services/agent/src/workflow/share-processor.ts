import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { fairQueue } from '@parley/kernel/queues/fair-queue';

type Request = Pick<TenantRequest, 'caller' | 'signal'>;

/** All evaluations and checks of this process, which has one thread for them. */
const queue = fairQueue({ inFlight: 4, shares: { tenant: { inFlight: 2 } } });
/** Checks, which anybody may ask for at will: one of a tenant at a time. */
const checks = fairQueue({
  shares: { tenant: { inFlight: 1, waiting: 20, label: 'to check workflows of this tenant' } },
});

/** Runs synchronous work of a tenant after other work of the process that waits. At most two pieces of a tenant run before others have their turn. */
export async function shareProcessor<Result>({ caller, signal }: Request, work: () => Result): Promise<Result> {
  const release = await queue.enter({ tenant: caller.tenantId }, () => signal);
  try {
    await setImmediate();
    return work();
  } finally {
    release();
  }
}

/** Pauses shorter than this are not worth a timer. */
const minPauseMs = 2;

/**
 * The same for work that no turn waits for, as checks of definitions and comparisons. After it the tenant's next one waits for as long as
 * it took, so that one tenant has at most half of the thread.
 * @param continues Whether it belongs to work that has begun, which is not refused
 * @throws DomainError `tooManyRequests`
 */
export async function shareChecks<Result>(request: Request, work: () => Result, continues = false): Promise<Result> {
  const release = await checks.enter({ tenant: request.caller.tenantId }, () => request.signal, continues);
  let tookMs = 0;
  try {
    return await shareProcessor(request, () => {
      const startedAt = performance.now();
      try {
        return work();
      } finally {
        tookMs = performance.now() - startedAt;
      }
    });
  } finally {
    if (tookMs < minPauseMs) release();
    else void sleep(tookMs).then(release);
  }
}
