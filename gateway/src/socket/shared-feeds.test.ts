import { setImmediate as tick } from 'node:timers/promises';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { sharedFeeds } from './shared-feeds.ts';

interface Item {
  eventId: string;
  old?: boolean;
}

const item = (n: number): Item => ({ eventId: `1-${n}` });
const old = (n: number): Item => ({ ...item(n), old: true });
const ids = (...numbers: number[]) => numbers.map((n) => `1-${n}`);

interface Source {
  give(...items: Item[]): void;
  end(error?: Error): void;
  isOpen: boolean;
}

interface Reader {
  got: string[];
  /** How the reader's feed ended: the text `ended`, or the error. Undefined while it runs. */
  ended?: unknown;
  leave(): void;
  source: Source;
}

/** Readers of shared feeds, each with its own source stream. */
function place(t: ExecutionContext, options: { bufferSize?: number; maxUnread?: number; maxLagMs?: number } = {}) {
  const feeds = sharedFeeds<Item>({ isLive: (each) => !each.old, ...options });
  const sources: Source[] = [];

  function open(signal: AbortSignal): AsyncGenerator<Item> {
    const waiting: Item[] = [];
    let over: { error: Error | undefined } | undefined;
    let wake: () => void = () => undefined;
    const source: Source = {
      isOpen: true,
      give(...items) {
        waiting.push(...items);
        wake();
      },
      end(error) {
        over = { error };
        wake();
      },
    };
    sources.push(source);
    signal.addEventListener('abort', () => wake());
    return (async function* () {
      try {
        while (!signal.aborted) {
          yield* waiting.splice(0);
          if (over?.error) throw over.error;
          if (over) return;
          if (waiting.length > 0 || signal.aborted) continue;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        source.isOpen = false;
      }
    })();
  }

  /** @param before is awaited after each delivered item, before the next item is read. */
  async function read(key = 'a', before: () => Promise<unknown> = async () => undefined): Promise<Reader> {
    const leaving = new AbortController();
    t.teardown(() => leaving.abort());
    const count = sources.length;
    const reader: Reader = { got: [], leave: () => leaving.abort(), source: undefined as never };
    const reading = (async () => {
      for await (const { eventId } of feeds.follow(key, open, leaving.signal)) {
        reader.got.push(eventId);
        await before();
      }
    })();
    void reading.then(
      () => Object.assign(reader, { ended: 'ended' }),
      (error: unknown) => Object.assign(reader, { ended: error }),
    );
    await eventually('a stream is opened', () => sources.length > count);
    return Object.assign(reader, { source: sources[count] });
  }

  return { read, open: () => sources.filter(({ isOpen }) => isOpen).length };
}

async function has(t: ExecutionContext, reader: Reader, ...numbers: number[]) {
  await eventually('it has all', () => reader.got.length >= numbers.length);
  t.deepEqual(reader.got, ids(...numbers));
}

test('readers that have caught up share one stream', async (t) => {
  const { read, open } = place(t);
  const [ada, ben] = [await read(), await read()];
  ada.source.give(old(1), item(2));
  await has(t, ada, 1, 2);
  ben.source.give(item(2));
  await has(t, ben, 2);
  await eventually('one is left', () => open() === 1);
  t.true(ada.source.isOpen);

  ada.source.give(item(3), item(4));
  await has(t, ada, 1, 2, 3, 4);
  await has(t, ben, 2, 3, 4);
});

test('a replaying reader uses its own stream until it reaches live events, without gaps', async (t) => {
  const { read, open } = place(t);
  const ada = await read();
  ada.source.give(item(5), item(6));
  await has(t, ada, 5, 6);
  const ben = await read();
  ben.source.give(old(1), old(5));
  await has(t, ben, 1, 5);
  t.is(open(), 2);
  ben.source.give(item(6));
  ada.source.give(item(7));
  await has(t, ben, 1, 5, 6, 7);
  await eventually('one is left', () => open() === 1);
});

test('joining from a stream ahead of or far behind the shared one causes no duplicates and no gaps', async (t) => {
  const { read, open } = place(t, { bufferSize: 2 });
  const ada = await read();
  ada.source.give(item(1));
  await has(t, ada, 1);
  const ahead = await read();
  ahead.source.give(item(1), item(2), item(3));
  await has(t, ahead, 1);
  const further = await read();
  further.source.give(item(3));
  await has(t, further, 3);
  ada.source.give(item(2), item(3), item(4), item(5));
  await has(t, ahead, 1, 2, 3, 4, 5);
  await has(t, further, 3, 4, 5);

  const behind = await read();
  behind.source.give(item(2), item(3));
  await has(t, behind, 2, 3);
  t.is(open(), 2, 'what came after 3 is no longer kept: it goes on with its own');
  behind.source.give(item(4));
  await has(t, behind, 2, 3, 4, 5);
  await eventually('one is left', () => open() === 1);
});

test('a shared stream stays open until its last reader leaves', async (t) => {
  const { read, open } = place(t);
  const [ada, ben] = [await read(), await read()];
  ada.source.give(item(1));
  await has(t, ada, 1);
  ben.source.give(item(1));
  await has(t, ben, 1);
  ada.leave();
  await eventually('she has left', () => ada.ended);
  ada.source.give(item(2));
  await has(t, ben, 1, 2);
  t.deepEqual(ada.got, ids(1));
  ben.leave();
  await eventually('nothing is open', () => open() === 0);

  const cleo = await read();
  cleo.source.give(item(3));
  await has(t, cleo, 3);
  t.is(cleo.ended, undefined);
});

test('a shared stream that stalls behind another is closed, and one that only lags briefly is not', async (t) => {
  const { read } = place(t, { maxLagMs: 200 });
  const [late, lateToo] = [await read('late'), await read('late')];
  late.source.give(item(1));
  await has(t, late, 1);
  lateToo.source.give(item(2));
  await has(t, lateToo, 2);
  late.source.give(item(2));
  await has(t, late, 1, 2);

  const [ada, ben] = [await read(), await read()];
  ada.source.give(item(1));
  await has(t, ada, 1);
  ben.source.give(item(2), item(3));
  await eventually('both get the error', () => ada.ended && ben.ended);
  const message = 'These events stalled; subscribe again, with the last event id where the field takes one';
  for (const { ended } of [ada, ben]) t.like(ended, { kind: 'unavailable', message });
  t.deepEqual(ben.got, ids(2), 'what it had been handed before');
  await eventually('the stream is left', () => !ada.source.isOpen);
  t.deepEqual([late.ended, lateToo.ended], [undefined, undefined]);

  const cleo = await read();
  cleo.source.give(item(3), item(4));
  await has(t, cleo, 3, 4);
});

test('the end or error of a shared stream reaches all readers', async (t) => {
  const { read } = place(t);
  const failure = new Error('away');
  for (const error of [undefined, failure]) {
    const [ada, ben] = [await read(), await read()];
    ada.source.give(item(1));
    await has(t, ada, 1);
    ben.source.give(item(1));
    await has(t, ben, 1);
    ada.source.give(item(2));
    ada.source.end(error);
    for (const reader of [ada, ben]) {
      await has(t, reader, 1, 2);
      t.is(await eventually('it has ended', () => reader.ended), error ?? 'ended');
    }
  }
});

test('a reader whose own stream is refused does not join the shared one', async (t) => {
  const { read } = place(t);
  const ada = await read();
  ada.source.give(item(1));
  await has(t, ada, 1);
  const other = await read();
  other.source.end(new Error('not yours'));
  t.like(await eventually('it is refused', () => other.ended), { message: 'not yours' });
  ada.source.give(item(2));
  await has(t, ada, 1, 2);
  t.deepEqual(other.got, []);
});

test('streams of other keys are not shared', async (t) => {
  const { read, open } = place(t);
  const [ada, ben] = [await read('a'), await read('b')];
  ada.source.give(item(1));
  ben.source.give(item(1));
  await has(t, ben, 1);
  ada.source.give(item(2));
  await has(t, ada, 1, 2);
  await tick();
  t.deepEqual(ben.got, ids(1));
  t.is(open(), 2);
});

test('a reader that leaves before the first live event closes its own stream', async (t) => {
  const { read, open } = place(t);
  const [ada, ben] = [await read(), await read()];
  ada.source.give(old(1));
  await has(t, ada, 1);
  for (const reader of [ada, ben]) reader.leave();
  await eventually('nothing is open', () => open() === 0);
});

test('a slow reader gets an error and delays no other', async (t) => {
  const { read } = place(t, { maxUnread: 5 });
  const ada = await read();
  ada.source.give(item(1));
  await has(t, ada, 1);
  const stuck = Promise.withResolvers<void>();
  const slow = await read('a', () => stuck.promise);
  slow.source.give(item(1));
  await has(t, slow, 1);
  ada.source.give(...Array.from({ length: 8 }, (_, n) => item(n + 2)));
  await has(t, ada, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  stuck.resolve();
  t.like(await eventually('it gets the error', () => slow.ended), { kind: 'unavailable' });
  t.deepEqual(slow.got, ids(1));
});
