import { randomUUID } from 'node:crypto';
import type { CountEntry, KeyValue } from '@parley/live/key-value/key-value';
import type { ExecutionContext, TestFn } from 'ava';
import { eventually } from './eventually.ts';

/** A store for the tests. Other tests may use it too, because each test has its own keys. */
export interface KeyValueHarness {
  /** Opens a connection, as another replica would. */
  connect(): Promise<KeyValue>;
  /** Ends the store and all its connections. */
  close(): Promise<void>;
}

const LONG = { ttlMs: 60_000 };

/** The contract of every key-value store, tested on the stores that `make` returns. */
export function keyValueContract(test: TestFn, name: string, make: () => Promise<KeyValueHarness>): void {
  async function setup(t: ExecutionContext) {
    const harness = await make();
    t.teardown(() => harness.close());
    const run = randomUUID();
    const key = (part: string) => `parley:test:${run}:${part}`;
    const entry = (part: string, rest: Partial<CountEntry> = {}): CountEntry => ({
      key: key(part),
      requests: 3,
      windowMs: 60_000,
      amount: 1,
      ...rest,
    });
    return { keyValue: await harness.connect(), other: await harness.connect(), key, entry };
  }

  test(`${name}: a value is read as it was set, by every replica, until it is replaced or deleted`, async (t) => {
    const { keyValue, other, key } = await setup(t);
    t.is(await keyValue.get(key('a')), undefined);
    for (const value of ['', 'one', 'nul \0 and lone ends 𝄞 é', 'x'.repeat(1_000_000)]) {
      await keyValue.set(key('a'), value, LONG);
      t.is(await other.get(key('a')), value);
    }
    t.true(await other.delete(key('a')));
    t.is(await keyValue.get(key('a')), undefined);
    t.false(await keyValue.delete(key('a')));
  });

  test(`${name}: a value expires, and setting it again restarts its time`, async (t) => {
    const { keyValue, key } = await setup(t);
    await keyValue.set(key('replaced'), 'old', { ttlMs: 30 });
    await keyValue.set(key('replaced'), 'new', LONG);
    await keyValue.set(key('short'), 'value', { ttlMs: 30 });
    await eventually('the value is gone', async () => (await keyValue.get(key('short'))) === undefined);
    t.is(await keyValue.get(key('replaced')), 'new');
  });

  test(`${name}: of concurrent calls that set an absent key one succeeds, and again after it has expired`, async (t) => {
    const { keyValue, other, key } = await setup(t);
    const attempts = Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? keyValue : other).setIfAbsent(key('lock'), String(n), LONG),
    );
    const results = await Promise.all(attempts);
    t.is(results.filter(Boolean).length, 1);
    t.is(await keyValue.get(key('lock')), String(results.indexOf(true)));
    t.true(await keyValue.setIfAbsent(key('brief'), 'first', { ttlMs: 30 }));
    await eventually('the key is absent again', () => other.setIfAbsent(key('brief'), 'next', LONG));
    t.is(await keyValue.get(key('brief')), 'next');
  });

  test(`${name}: a window allows its limit and refuses the next count, with the time of its end`, async (t) => {
    const { keyValue, key, entry } = await setup(t);
    for (const count of [1, 2, 3]) {
      const answer = await keyValue.countAll([entry('a')]);
      t.like(answer, { counted: true, windows: [{ key: key('a'), requests: 3, count }] });
    }
    const answer = await keyValue.countAll([entry('a')]);
    if (answer.counted) return t.fail('the fourth was counted');
    t.like(answer.refused, { key: key('a'), requests: 3, count: 3 });
    t.true(answer.refused.endsInMs > 0 && answer.refused.endsInMs <= 60_000);
  });

  test(`${name}: a refused request counts nothing, its other keys included`, async (t) => {
    const { keyValue, key, entry } = await setup(t);
    await keyValue.countAll([entry('full', { amount: 3 })]);
    const refused = await keyValue.countAll([entry('free'), entry('full'), entry('free')]);
    t.like(refused, { counted: false, refused: { key: key('full'), count: 3 } });
    const read = await keyValue.countAll([entry('free', { amount: 0 }), entry('full', { amount: 0 })]);
    t.like(read, { counted: true, windows: [{ count: 0 }, { count: 3 }] });
    t.is(await keyValue.get(key('free')), undefined, 'not even a window was started');
  });

  test(`${name}: entries of one key add up in one request`, async (t) => {
    const { keyValue, entry } = await setup(t);
    const four = [entry('a'), entry('a'), entry('a'), entry('a')];
    t.false((await keyValue.countAll(four)).counted);
    t.true((await keyValue.countAll(four.slice(1))).counted);
    t.false((await keyValue.countAll(four.slice(3))).counted);
  });

  test(`${name}: of several refused entries the one whose window ends last is returned`, async (t) => {
    const { keyValue, key, entry } = await setup(t);
    const soon = entry('soon', { amount: 3, windowMs: 20_000 });
    const late = entry('late', { amount: 3, windowMs: 50_000 });
    await keyValue.countAll([soon, late]);
    t.like(await keyValue.countAll([soon, late, soon]), { counted: false, refused: { key: key('late') } });
  });

  test(`${name}: a single count above the limit is refused`, async (t) => {
    const { keyValue, entry } = await setup(t);
    const refused = await keyValue.countAll([entry('a', { amount: 4, windowMs: 5_000 })]);
    t.like(refused, { counted: false, refused: { count: 0, endsInMs: 5_000 } });
    t.deepEqual(await keyValue.countAll([]), { counted: true, windows: [] });
  });

  test(`${name}: a window starts with its first count and is not extended by later ones`, async (t) => {
    const { keyValue, entry } = await setup(t);
    const full = entry('a', { requests: 1, windowMs: 100 });
    t.true((await keyValue.countAll([full])).counted);
    let endsInMs = 100;
    await eventually('the window has ended', async () => {
      const answer = await keyValue.countAll([full]);
      if (answer.counted) return true;
      t.true(answer.refused.endsInMs <= endsInMs, 'the end comes nearer');
      endsInMs = answer.refused.endsInMs;
      return false;
    });
  });

  test(`${name}: concurrent requests of several replicas never exceed the limit together`, async (t) => {
    const { keyValue, other, entry } = await setup(t);
    const requests = Array.from({ length: 60 }, (_, n) =>
      (n % 2 ? keyValue : other).countAll([entry('a', { requests: 10 }), entry('b', { requests: 1_000 })]),
    );
    t.is((await Promise.all(requests)).filter(({ counted }) => counted).length, 10);
    const read = await other.countAll([entry('b', { requests: 1_000, amount: 0 })]);
    t.like(read, { windows: [{ count: 10 }] });
  });

  test(`${name}: counts that are given back can be used by every replica, and never exceed what was counted`, async (t) => {
    const { keyValue, other, key, entry } = await setup(t);
    await keyValue.countAll([entry('a', { amount: 3 }), entry('b', { amount: 2 })]);
    await other.giveBack([
      entry('a', { amount: 1 }),
      entry('a', { amount: 1 }),
      entry('b', { amount: 5 }),
      entry('none'),
    ]);
    const read = (part: string) => entry(part, { amount: 0 });
    t.like(await keyValue.countAll([read('a'), read('b'), read('none')]), {
      windows: [{ count: 1 }, { count: 0 }, { count: 0 }],
    });
    t.is(await keyValue.get(key('none')), undefined, 'no window was started');
    t.true((await keyValue.countAll([entry('b', { amount: 3 })])).counted, 'it is not below 0');
    t.false((await keyValue.countAll([entry('b')])).counted);
    await keyValue.giveBack([]);
  });

  test(`${name}: giving back does not change the end of a window, even at zero`, async (t) => {
    const { keyValue, key, entry } = await setup(t);
    const brief = entry('a', { requests: 1, windowMs: 200 });
    await keyValue.countAll([brief]);
    await keyValue.giveBack([brief]);
    const answer = await keyValue.countAll([brief]);
    if (!answer.counted) return t.fail('what was given back could not be counted');
    t.true((answer.windows[0]?.endsInMs ?? 0) <= 200);
    await eventually('the window has ended', async () => (await keyValue.get(key('a'))) === undefined);
    await keyValue.giveBack([brief]);
    t.is(await keyValue.get(key('a')), undefined);
  });

  test(`${name}: concurrent counts and returns are all applied`, async (t) => {
    const { keyValue, other, entry } = await setup(t);
    const roomy = entry('a', { requests: 1_000 });
    await keyValue.countAll([entry('a', { requests: 1_000, amount: 100 })]);
    const steps = Array.from({ length: 60 }, (_, n) =>
      n % 3 ? keyValue.giveBack([roomy]) : other.countAll([roomy]).then(() => undefined),
    );
    await Promise.all(steps);
    t.like(await other.countAll([{ ...roomy, amount: 0 }]), { windows: [{ count: 80 }] });
  });

  test(`${name}: nothing is given back where one key is not a counter`, async (t) => {
    const { keyValue, key, entry } = await setup(t);
    await keyValue.countAll([entry('a')]);
    await keyValue.set(key('text'), 'none', LONG);
    await t.throwsAsync(keyValue.giveBack([entry('a'), entry('text')]), { instanceOf: TypeError });
    t.is(await keyValue.get(key('a')), '1');
  });

  test(`${name}: deleting a counter resets it`, async (t) => {
    const { keyValue, other, key, entry } = await setup(t);
    await keyValue.countAll([entry('a', { amount: 3 })]);
    t.true(await other.delete(key('a')));
    t.true((await keyValue.countAll([entry('a', { amount: 3 })])).counted);
  });

  test(`${name}: keys without the product prefix and invalid numbers are bugs`, async (t) => {
    const { keyValue, key, entry } = await setup(t);
    const foreign: (() => Promise<unknown>)[] = [
      () => keyValue.get('a'),
      () => keyValue.set('other:a', 'b', LONG),
      () => keyValue.setIfAbsent('', 'b', LONG),
      () => keyValue.delete('parley'),
      () => keyValue.countAll([{ ...entry('a'), key: 'a' }]),
      () => keyValue.publish('a', 'b'),
      () => keyValue.subscribe('a', () => undefined),
      () => keyValue.set(key('a'), 'b', { ttlMs: 0 }),
      () => keyValue.set(key('a'), 'b', { ttlMs: 1.5 }),
      () => keyValue.countAll([entry('a', { amount: -1 })]),
      () => keyValue.countAll([entry('a', { windowMs: Number.NaN })]),
      () => keyValue.giveBack([{ key: 'a', amount: 1 }]),
      () => keyValue.giveBack([entry('a', { amount: -1 })]),
      () => keyValue.giveBack([entry('a', { amount: 0.5 })]),
    ];
    for (const call of foreign) await t.throwsAsync(call, { instanceOf: RangeError });
  });

  test(`${name}: subscribers of a channel get each message in order, others and former ones do not`, async (t) => {
    const { keyValue, other, key } = await setup(t);
    const received: Record<string, string[]> = { same: [], other: [], former: [], elsewhere: [] };
    const receiver = (who: string) => (message: string) => received[who]?.push(message);
    await keyValue.subscribe(key('news'), receiver('same'));
    await other.subscribe(key('news'), receiver('other'));
    await other.subscribe(key('else'), receiver('elsewhere'));
    const leave = await keyValue.subscribe(key('news'), receiver('former'));
    await leave();
    await leave();

    const messages = Array.from({ length: 100 }, (_, n) => `message ${n} é`);
    for (const message of messages) await keyValue.publish(key('news'), message);
    await other.publish(key('else'), 'last');
    await eventually(
      'all messages have arrived',
      () => received.same?.length === 100 && received.other?.length === 100 && received.elsewhere?.length,
    );
    t.deepEqual(received, { same: messages, other: messages, former: [], elsewhere: ['last'] });
  });

  test(`${name}: a closed connection is unavailable`, async (t) => {
    const { keyValue, key, entry } = await setup(t);
    await keyValue.ping();
    await keyValue.close();
    const calls: (() => Promise<unknown>)[] = [
      () => keyValue.ping(),
      () => keyValue.get(key('a')),
      () => keyValue.countAll([entry('a')]),
      () => keyValue.giveBack([entry('a')]),
    ];
    for (const call of calls) {
      t.like(await t.throwsAsync(call), { kind: 'unavailable' });
    }
  });
}
