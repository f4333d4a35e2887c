import { DomainError, isDomainError } from '@parley/kernel/errors';
import { type FairQueueLimits, fairQueue, type Release } from '@parley/kernel/queues/fair-queue';
import type { Metrics } from '@parley/kernel/telemetry/metrics';

export type ProviderKind = 'tts' | 'stt' | 'avatar';

export type ProviderWork = <T>(
  what: ProviderKind,
  tenantId: number,
  signal: AbortSignal,
  work: () => Promise<T>,
) => Promise<T>;

/** Bounds the concurrent calls of each provider, per tenant and in total, and measures their duration. */
export function providerWork(limits: Record<ProviderKind, FairQueueLimits<'tenant'>>, metrics: Metrics): ProviderWork {
  const queues = { tts: fairQueue(limits.tts), stt: fairQueue(limits.stt), avatar: fairQueue(limits.avatar) };
  const seconds = metrics.durations('parley_voice_provider_seconds', 'Duration of provider calls without queueing', [
    'what',
    'outcome',
  ]);
  metrics.gauge('parley_voice_calls_waiting', 'Provider calls that are queued', () =>
    Object.values(queues).reduce((sum, { waiting }) => sum + waiting, 0),
  );

  async function enter(what: ProviderKind, tenant: number, signal: AbortSignal): Promise<Release> {
    try {
      return await queues[what].enter({ tenant }, () => signal);
    } catch (error) {
      // The message does not reveal which limit was reached.
      if (!isDomainError(error, 'tooManyRequests')) throw error;
      throw new DomainError('tooManyRequests', 'Too many requests; try again in a minute');
    }
  }

  return async (what, tenant, signal, work) => {
    const release = await enter(what, tenant, signal);
    const end = seconds.startTimer({ what });
    try {
      signal.throwIfAborted();
      const done = await work();
      end({ outcome: 'ok' });
      return done;
    } catch (error) {
      const isRefused = signal.aborted || isDomainError(error, 'invalid') || isDomainError(error, 'tooManyRequests');
      end({ outcome: isRefused ? 'refused' : 'error' });
      throw error;
    } finally {
      release();
    }
  };
}
