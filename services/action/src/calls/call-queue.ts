import { DomainError } from '@parley/kernel/errors';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import type { ActionLimits } from '../config.ts';

export type CallQueue = ReturnType<typeof callQueue>;

/** Limits the concurrent calls of this process. Queued calls start round robin by tenant and target. */
export function callQueue(limits: ActionLimits) {
  const { callsAtOnce: inFlight, callsPerTenant, callsPerTarget, callsWaiting: waiting } = limits;
  return fairQueue<'connector' | 'action' | 'tenant'>({
    inFlight,
    shares: {
      connector: { inFlight: callsPerTarget, waiting, label: 'to this connector' },
      action: { inFlight: callsPerTarget, waiting, label: 'of this custom action' },
      tenant: { inFlight: callsPerTenant, waiting },
    },
  });
}

/** Starts the deadline of one call, which includes its time in the queue. */
export function callDeadline(limitMs: number) {
  const endsAt = performance.now() + limitMs;
  return {
    leftMs: () => Math.max(1, Math.ceil(endsAt - performance.now())),
    /** Returns a signal that aborts with the given signal or at the deadline, for waits before the call is sent. */
    signalWith: (signal: AbortSignal) => {
      const timeout = new AbortController();
      const timer = setTimeout(() => timeout.abort(tooLate(limitMs)), limitMs);
      return { signal: AbortSignal.any([signal, timeout.signal]), end: () => clearTimeout(timer) };
    },
  };
}

function tooLate(limitMs: number): DomainError {
  const message = `The call did not get its turn within ${limitMs} ms; nothing was sent`;
  return new DomainError('tooManyRequests', message);
}
