import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGate } from '@parley/chassis/testing/gate';
import test from 'ava';
import { type Asker, type FairQueueOptions, fairQueue } from './fair-queue.ts';

/** A queue whose work goes on one by one, as the test lets it. */
function heldQueue(options: Partial<FairQueueOptions> = {}) {
  const queue = fairQueue({ atOnce: 1, waiting: 100, perUser: 100, perAddress: 100, ...options });
  const gate = createGate();
  const begun: string[] = [];
  return {
    begun,
    /** Answers with the name once it has been worked on, else with the kind of the refusal. */
    ask(name: string, asker: Asker): Promise<string> {
      const work = async () => {
        begun.push(name);
        await gate.pass();
        return name;
      };
      const entered = async () => {
        using _entered = queue.enter(asker);
        return await queue.run(asker, work);
      };
      return entered().catch((error: unknown) => (error as { kind: string }).kind);
    },
    /** Lets all go on to their end. */
    open: () => gate.open(),
    async finishOne() {
      gate.release();
      await nextTurn();
    },
  };
}

test('addresses are served in turn, each one’s in order, whoever came in large numbers first', async (t) => {
  const { ask, open, begun } = heldQueue();
  const flood = Array.from({ length: 20 }, (_, n) => ask(`flood ${n}`, { address: 'a' }));
  const others = [ask('b 0', { address: 'b' }), ask('b 1', { address: 'b' }), ask('c 0', { address: 'c' })];
  open();
  await Promise.all([...flood, ...others]);
  t.deepEqual(begun.slice(0, 7), ['flood 0', 'flood 1', 'b 0', 'c 0', 'flood 2', 'b 1', 'flood 3']);
  t.is(begun.length, 23);
});

test('a user has so many under way at most, from all their addresses, and an address so many of all its users', async (t) => {
  const { ask, open } = heldQueue({ perUser: 3, perAddress: 5 });
  const ofUser = Array.from({ length: 5 }, (_, n) => ask(`u ${n}`, { address: `${n}`, userId: 1 }));
  const ofAddress = Array.from({ length: 7 }, (_, n) => ask(`a ${n}`, { address: 'a', userId: 10 + n }));
  open();
  t.deepEqual(await Promise.all(ofUser), ['u 0', 'u 1', 'u 2', 'tooManyRequests', 'tooManyRequests']);
  t.deepEqual((await Promise.all(ofAddress)).slice(4), ['a 4', 'tooManyRequests', 'tooManyRequests']);
  t.is(await ask('later', { address: 'a', userId: 1 }), 'later'); // what has ended no longer counts
});

test('who has gone leaves the queue at once, is not worked on, and makes room', async (t) => {
  const { ask, open, begun } = heldQueue({ waiting: 2, perUser: 3 });
  const first = ask('first', { address: 'a', userId: 1 });
  const going = new AbortController();
  const gone = [1, 2].map((n) => ask(`gone ${n}`, { address: 'a', userId: 1, gone: going.signal }));
  t.is(await ask('full', { address: 'a' }), 'unavailable');
  going.abort();

  t.deepEqual(await Promise.all(gone), ['unavailable', 'unavailable']);
  const second = ask('second', { address: 'a', userId: 1, gone: new AbortController().signal });
  open();
  t.deepEqual(await Promise.all([first, second]), ['first', 'second']);
  t.deepEqual(begun, ['first', 'second']);
  t.is(await ask('too late', { address: 'a', gone: going.signal }), 'unavailable');
});

test('who goes while being worked on is worked on to the end, and the next one begins after that', async (t) => {
  const { ask, open, finishOne, begun } = heldQueue();
  const going = new AbortController();
  const first = ask('first', { address: 'a', gone: going.signal });
  const second = ask('second', { address: 'b' });
  going.abort();
  t.deepEqual(begun, ['first']);
  await finishOne();

  t.is(await first, 'first');
  t.deepEqual(begun, ['first', 'second']);
  open();
  t.is(await second, 'second');
});

test('a full queue gives the last place of whoever has most to somebody who has less, and else refuses', async (t) => {
  const { ask, open } = heldQueue({ waiting: 4 });
  const flood = Array.from({ length: 5 }, (_, n) => ask(`flood ${n}`, { address: 'a' }));
  const stranger = ask('stranger', { address: 'b' });
  t.is(await ask('flood 5', { address: 'a' }), 'unavailable');
  const another = ask('another', { address: 'c' });
  t.is(await ask('yet another', { address: 'b' }), 'unavailable'); // it would have as many as the others
  open();

  t.deepEqual(await Promise.all(flood), ['flood 0', 'flood 1', 'flood 2', 'tooManyRequests', 'tooManyRequests']);
  t.deepEqual(await Promise.all([stranger, another]), ['stranger', 'another']);
});
