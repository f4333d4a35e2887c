import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import type { EachBatchPayload, OffsetsByTopicPartition } from 'kafkajs';
import { type AssignmentOptions, createAssignment } from './kafka-assignment.ts';

type Delivered = Pick<EachBatchPayload, 'batch' | 'pause' | 'commitOffsetsIfNecessary'>;

/** Creates an assignment, with a stub of a broker that stores the committed offsets. */
function setup(t: ExecutionContext, options: Pick<AssignmentOptions, 'handle'> & Partial<AssignmentOptions>) {
  const committed = new Map<number, string>();
  const broker = { acceptsCommits: true };
  const assignment = createAssignment({ topic: 'happened', concurrency: 4, ...options });
  t.teardown(() => assignment.revoke());
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
        if (!broker.acceptsCommits) throw new Error('The coordinator is not there');
        for (const { partitions } of offsets?.topics ?? [])
          for (const one of partitions) committed.set(one.partition, one.offset);
      },
    };
    assignment.deliver(payload);
  };
  return { assignment, deliver, committed, broker };
}

test('events delivered again after a rebalance are handled, although the first attempt fails meanwhile', async (t) => {
  const gate = createGate();
  const ran: string[] = [];
  const { assignment, deliver, committed } = setup(t, {
    async handle({ message }, stopSignal) {
      ran.push(message.offset);
      if (ran.length > 1) return;
      await gate.pass();
      if (stopSignal.aborted) throw new Error('stopped');
    },
  });
  const events: [number, string][] = [
    [5, 'a'],
    [6, 'a'],
    [7, 'b'],
  ];
  assignment.assign([0]);
  deliver(0, events);
  await eventually('the first one runs', () => ran.length > 0);
  assignment.revoke();
  assignment.assign([0]);
  deliver(0, events);
  gate.open();
  await eventually('all of it is committed', () => committed.get(0) === '8');
  t.deepEqual(
    ran.filter((offset) => offset !== '7'),
    ['5', '5', '6'],
  );
});

test('an event whose handling breaks off without a rebalance is handled again, before those behind it', async (t) => {
  const ran: string[] = [];
  const { assignment, deliver, committed } = setup(t, {
    async handle({ message }) {
      ran.push(message.offset);
      if (ran.length === 1) throw new Error('unexpected');
    },
  });
  assignment.assign([0]);
  deliver(0, [
    [1, 'a'],
    [2, 'a'],
  ]);
  await eventually('both are committed', () => committed.get(0) === '3');
  t.deepEqual(ran, ['1', '1', '2']);
});

test('a partition full of hanging events delays no other partition', async (t) => {
  const gate = createGate();
  const { assignment, deliver, committed } = setup(t, {
    concurrency: 3,
    handle: async ({ partition }) => void (partition === 0 && (await gate.pass())),
  });
  assignment.assign([0, 1]);
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

test('there is no progress while events wait, no handler runs and none is delivered', async (t) => {
  const gate = createGate();
  const { assignment, deliver, committed } = setup(t, { handle: async () => gate.pass() });
  assignment.assign([0]);
  t.is(assignment.noProgressForMs(), 0, 'it knows of none');
  deliver(0, [[0, 'a']], 2);
  await new Promise(setImmediate);
  t.is(assignment.noProgressForMs(), 0, 'a handler runs');
  gate.open();
  await eventually('the first one is committed', () => committed.get(0) === '1');
  await eventually('it waits for the second one', () => assignment.noProgressForMs() > 20);
  deliver(0, [[1, 'a']]);
  await eventually('both are committed', () => committed.get(0) === '2');
  t.is(assignment.noProgressForMs(), 0);
});

test('a failed commit can be retried', async (t) => {
  const { assignment, deliver, committed, broker } = setup(t, { handle: async () => undefined });
  broker.acceptsCommits = false;
  assignment.assign([0]);
  deliver(0, [[0, 'a']]);
  await eventually('it is done and not committed', () => assignment.noProgressForMs() > 0);
  broker.acceptsCommits = true;
  assignment.retryCommit();
  await eventually('it is committed', () => committed.get(0) === '1');
  t.is(assignment.noProgressForMs(), 0);
});

test('the number of held partitions includes those without events, and is zero after a revocation', (t) => {
  const { assignment } = setup(t, { handle: async () => undefined });
  const sizes = [assignment.size()];
  for (const partitions of [[0, 1, 2], []]) {
    assignment.assign(partitions);
    sizes.push(assignment.size());
  }
  assignment.assign([1]);
  assignment.revoke();
  t.deepEqual([...sizes, assignment.size()], [0, 3, 0, 0]);
});
