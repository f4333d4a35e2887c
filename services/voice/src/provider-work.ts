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

/** Bounds what is asked of each provider at once, for each tenant and in all, and measures how long they take. */
export function providerWork(limits: Record<ProviderKind, FairQueueLimits<'tenant'>>, metrics: Metrics): ProviderWork {
  const queues = { tts: fairQueue(limits.tts), stt: fairQueue(limits.stt), avatar: fairQueue(limits.avatar) };
  const seconds = metrics.durations('parley_voice_provider_seconds', 'Calls of providers, without waiting for a turn', [
    'what',
    'outcome',
  ]);
  metrics.gauge('parley_voice_calls_waiting', 'Calls of providers that wait for their turn', () =>
    Object.values(queues).reduce((sum, { waiting }) => sum + waiting, 0),
  );

  async function enter(what: ProviderKind, tenant: number, signal: AbortSignal): Promise<Release> {
    try {
      return await queues[what].enter({ tenant }, () => signal);
    } catch (error) {
      // No refusal says which limit was reached.
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
