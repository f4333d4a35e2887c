import { createRequire } from 'node:module';
import test from 'ava';
import { patchIdleTimer } from './kafka-idle-timer.ts';

interface Entry {
  correlationId: number;
}

interface Queue {
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  throttledUntil: number;
  pending: unknown[];
  push(request: { entry: Entry; expectResponse: boolean; sendRequest: () => void }): void;
  fulfillRequest(response: Entry & { payload: Buffer; size: number }): void;
  maybeThrottle(ms: number): void;
  checkPendingRequests(): void;
  destroy(): void;
}

/** Creates the queue of a connection that takes one request at a time. */
function makeQueue(): { queue: Queue; sent: number[]; request: (id: number) => Parameters<Queue['push']>[0] } {
  patchIdleTimer();
  const RequestQueue: new (options: object) => Queue = createRequire(import.meta.url)(
    'kafkajs/src/network/requestQueue',
  );
  const logger = { debug: () => undefined, warn: () => undefined };
  const queue = new RequestQueue({ maxInFlightRequests: 1, requestTimeout: 1_000, logger, clientId: '', broker: '' });
  const sent: number[] = [];
  const request = (correlationId: number) => ({
    entry: { correlationId, resolve: () => undefined, reject: () => undefined },
    expectResponse: true,
    sendRequest: () => void sent.push(correlationId),
  });
  return { queue, sent, request };
}

test('an idle connection sets no timer, before its first request or after its last', (t) => {
  const { queue, sent, request } = makeQueue();
  queue.checkPendingRequests();
  t.is(queue.throttleCheckTimeoutId, null);
  queue.push(request(1));
  queue.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 });
  t.deepEqual(sent, [1]);
  t.is(queue.throttleCheckTimeoutId, null);
});

test('requests that wait behind another set one timer, and are sent after it', (t) => {
  const { queue, sent, request } = makeQueue();
  t.teardown(() => queue.destroy());
  queue.push(request(1));
  queue.push(request(2));
  const timer = queue.throttleCheckTimeoutId;
  t.not(timer, null);
  queue.push(request(3));
  t.is(queue.throttleCheckTimeoutId, timer, 'one timer for all');
  queue.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 });
  t.deepEqual(sent, [1, 2]);
});

test('a throttled request is sent when the throttling ends', async (t) => {
  const { queue, request } = makeQueue();
  queue.maybeThrottle(20);
  t.true(queue.throttledUntil > Date.now());
  const sentAt = await new Promise<number>((resolve) => {
    queue.push({ ...request(1), sendRequest: () => resolve(Date.now()) });
  });
  t.true(sentAt >= queue.throttledUntil);
  t.is(queue.pending.length, 0);
});
