import { kafkaEventBus } from '../../src/kafka-event-bus.ts';

/**
 * A member of group `a` in its own process: `node kafka-member-child.ts BROKERS TOPIC`. The process sends each received event to its
 * parent. An event is handled when the parent sends back the event's id.
 */
const [, , brokers = '', topic = ''] = process.argv;
const waiting = new Map<string, () => void>();
process.on('message', (id: string) => {
  waiting.get(id)?.();
  waiting.delete(id);
});
process.once('disconnect', () => process.exit(1)); // the parent has exited

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
