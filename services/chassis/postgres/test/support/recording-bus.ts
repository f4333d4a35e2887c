import { EventEmitter, once } from 'node:events';
import type { Envelope } from '@parley/events/envelope';

/** A bus that records events, and accepts, rejects or delays them as the test decides. */
export interface RecordingBus {
  publish(events: Envelope[]): Promise<void>;
  /** All accepted events, in order, including duplicates. */
  readonly accepted: Envelope[];
  /** Number of calls of `publish`. */
  readonly calls: number;
  /** Number of rejected calls. */
  readonly rejected: number;
  /** Decides the outcome of each call by resolving or rejecting. Default: accepts at once. */
  decide: (events: Envelope[]) => Promise<void>;
  /** Resolves when `condition` holds. It is checked at the beginning and at the end of each call. */
  until(condition: () => boolean): Promise<void>;
}

export function recordingBus(): RecordingBus {
  const accepted: Envelope[] = [];
  const changes = new EventEmitter();
  let calls = 0;
  let rejected = 0;
  const bus: RecordingBus = {
    accepted,
    get calls() {
      return calls;
    },
    get rejected() {
      return rejected;
    },
    decide: async () => undefined,
    async publish(events) {
      calls += 1;
      changes.emit('change');
      try {
        await bus.decide(events);
        accepted.push(...events);
      } catch (error) {
        rejected += 1;
        throw error;
      } finally {
        changes.emit('change');
      }
    },
    async until(condition) {
      const signal = AbortSignal.timeout(20_000);
      while (!condition()) await once(changes, 'change', { signal });
    },
  };
  return bus;
}
