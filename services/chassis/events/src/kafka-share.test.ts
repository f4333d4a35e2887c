import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import type { EachBatchPayload, OffsetsByTopicPartition } from 'kafkajs';
import { createShare, type ShareOptions } from './kafka-share.ts';

type Delivered = Pick<EachBatchPayload, 'batch' | 'pause' | 'commitOffsetsIfNecessary'>;

/** A share on a broker that remembers what is committed. */
function shareOf(t: ExecutionContext, options: Pick<ShareOptions, 'take'> & Partial<ShareOptions>) {
  const committed = new Map<number, string>();
  const broker = { takesCommits: true };
  const share = createShare({ topic: 'happened', concurrency: 4, ...options });
  t.teardown(() => share.revoke());
  const deliver = (partition: number, events: [offset: number, key: string][], end = (events.at(-1)?.[0] ?? 0) + 1) => {
    const messages = events.map(([offset, key]) => ({
      key: Buffer.from(key),
      value: null,
      timestamp: '0',
      attributes: 0,
      offset: String(offset),
      headers: {},
    }));
    const payload: Delivered = {
      batch: {
        topic: 'happened',
        partition,
        highWatermark: String(end),
        messages,
        isEmpty: () => false,
        firstOffset: () => messages[0]?.offset ?? null,
        lastOffset: () => messages.at(-1)?.offset ?? '0',
        offsetLag: () => '0',
        offsetLagLow: () => '0',
      },
      pause: () => () => undefined,
      async commitOffsetsIfNecessary(offsets?: OffsetsByTopicPartition) {
        if (!broker.takesCommits) throw new Error('The coordinator is not there');
        for (const { partitions } of offsets?.topics ?? [])
          for (const one of partitions) committed.set(one.partition, one.offset);
      },
    };
    share.deliver(payload);
  };
  return { share, deliver, committed, broker };
}

test('what comes again after a rebalance runs, although its first run fails meanwhile', async (t) => {
  const gate = createGate();
  const ran: string[] = [];
  const { share, deliver, committed } = shareOf(t, {
    async take({ message }, stopped) {
      ran.push(message.offset);
      if (ran.length > 1) return;
      await gate.pass();
      if (stopped.aborted) throw new Error('stopped');
    },
  });
  const events: [number, string][] = [
    [5, 'a'],
    [6, 'a'],
    [7, 'b'],
  ];
  share.assign([0]);
  deliver(0, events);
  await eventually('the first one runs', () => ran.length > 0);
  share.revoke();
  share.assign([0]);
  deliver(0, events);
  gate.open();
  await eventually('all of it is committed', () => committed.get(0) === '8');
  t.deepEqual(
    ran.filter((offset) => offset !== '7'),
    ['5', '5', '6'],
  );
});

test('an event whose handling breaks off within a tenure is taken again, before those behind it', async (t) => {
  const ran: string[] = [];
  const { share, deliver, committed } = shareOf(t, {
    async take({ message }) {
      ran.push(message.offset);
      if (ran.length === 1) throw new Error('nobody has expected that');
    },
  });
  share.assign([0]);
  deliver(0, [
    [1, 'a'],
    [2, 'a'],
  ]);
  await eventually('both are committed', () => committed.get(0) === '3');
  t.deepEqual(ran, ['1', '1', '2']);
});

test('a partition full of events that hang holds no other partition up', async (t) => {
  const gate = createGate();
  const { share, deliver, committed } = shareOf(t, {
    concurrency: 3,
    take: async ({ partition }) => void (partition === 0 && (await gate.pass())),
  });
  share.assign([0, 1]);
  deliver(
    0,
    Array.from({ length: 20 }, (_, n) => [n, `hangs ${n}`]),
  );
  deliver(1, [
    [0, 'a'],
    [1, 'b'],
  ]);
  await eventually('the other partition is done', () => committed.get(1) === '2');
  t.not(committed.get(0), '20');
  gate.open();
  await eventually('all is done', () => committed.get(0) === '20');
});

test('a share is stuck while events wait, none is being handled and none comes', async (t) => {
  const gate = createGate();
  const { share, deliver, committed } = shareOf(t, { take: async () => gate.pass() });
  share.assign([0]);
  t.is(share.stuckForMs(), 0, 'it knows of none');
  deliver(0, [[0, 'a']], 2);
  await new Promise(setImmediate);
  t.is(share.stuckForMs(), 0, 'it is at work');
  gate.open();
  await eventually('the first one is committed', () => committed.get(0) === '1');
  await eventually('it waits for the second one', () => share.stuckForMs() > 20);
  deliver(0, [[1, 'a']]);
  await eventually('both are committed', () => committed.get(0) === '2');
  t.is(share.stuckForMs(), 0);
});

test('what could not be committed is committed when the broker is asked again', async (t) => {
  const { share, deliver, committed, broker } = shareOf(t, { take: async () => undefined });
  broker.takesCommits = false;
  share.assign([0]);
  deliver(0, [[0, 'a']]);
  await eventually('it is done and not committed', () => share.stuckForMs() > 0);
  broker.takesCommits = true;
  share.commitAgain();
  await eventually('it is committed', () => committed.get(0) === '1');
  t.is(share.stuckForMs(), 0);
});
