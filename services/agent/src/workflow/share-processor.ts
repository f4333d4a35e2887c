import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { fairQueue } from '@parley/kernel/queues/fair-queue';

type Request = Pick<TenantRequest, 'caller' | 'signal'>;

/** Queues all evaluations and checks of this process, which share its one thread. */
const queue = fairQueue({ inFlight: 4, shares: { tenant: { inFlight: 2 } } });
/** Queues checks, because clients may request them at any time. One check per tenant runs at a time. */
const checks = fairQueue({
  shares: { tenant: { inFlight: 1, waiting: 20, label: 'to check workflows of this tenant' } },
});

/** Runs synchronous work of a tenant after the process's pending I/O. After at most two pieces of one tenant, another tenant is served. */
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
 * Runs work as `shareProcessor` does, but for work that no turn waits for, e.g. checks and comparisons of definitions. Afterwards the
 * tenant's next piece of work waits for as long as this piece took, so that one tenant uses at most half of the thread.
 * @param continues whether the work is part of a request that has already begun; such work is not refused
 * @throws DomainError `tooManyRequests` if too much work of the tenant is waiting
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
