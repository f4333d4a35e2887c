import { EventEmitter, once } from 'node:events';
import type { Envelope } from '@parley/events/envelope';

/** A bus that remembers what it was given, and takes it, refuses it or keeps it waiting as the test says. */
export interface RecordingBus {
  publish(events: Envelope[]): Promise<void>;
  /** What was taken, in the order of taking, repetitions included. */
  readonly taken: Envelope[];
  /** How often it was called. */
  readonly calls: number;
  /** How often it refused. */
  readonly refused: number;
  /** Decides over each call; default takes everything at once. It may wait, and refuses by rejecting. */
  decide: (events: Envelope[]) => Promise<void>;
  /** Resolves when `condition` holds, looked at whenever the bus is called or takes something. */
  until(condition: () => boolean): Promise<void>;
}

export function recordingBus(): RecordingBus {
  const taken: Envelope[] = [];
  const changes = new EventEmitter();
  let calls = 0;
  let refused = 0;
  const bus: RecordingBus = {
    taken,
    get calls() {
      return calls;
    },
    get refused() {
      return refused;
    },
    decide: async () => undefined,
    async publish(events) {
      calls += 1;
      changes.emit('change');
      try {
        await bus.decide(events);
        taken.push(...events);
      } catch (error) {
        refused += 1;
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
