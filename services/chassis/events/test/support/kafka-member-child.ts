import { kafkaEventBus } from '../../src/kafka-event-bus.ts';

/**
 * A member of group `a` in a process of its own: `node kafka-member-child.ts BROKERS TOPIC`. It tells its parent of each
 * event that it is given, and has handled it when the parent says so.
 */
const [, , brokers = '', topic = ''] = process.argv;
const waiting = new Map<string, () => void>();
process.on('message', (id: string) => {
  waiting.get(id)?.();
  waiting.delete(id);
});
process.once('disconnect', () => process.exit(1)); // whoever started it is gone

const bus = kafkaEventBus({ brokers: brokers.split(','), sessionTimeoutMs: 6_000 });
await bus.subscribe({
  group: 'a',
  topics: [topic],
  concurrency: 4,
  handler({ id, key }) {
    process.send?.({ id, key });
    return new Promise<void>((resolve) => waiting.set(id, resolve));
  },
});
process.send?.('joined');
