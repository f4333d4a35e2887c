import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDomainError } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import { databaseProxy } from '@parley/testing/database-proxy';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { compareEventIds } from '../src/event-log/event-id.ts';
import type { Entry, EventLog } from '../src/event-log/event-log.ts';
import { redisEventLog } from '../src/event-log/redis-event-log.ts';
import { redisKeyValue } from '../src/key-value/redis-key-value.ts';
import type { RedisConnectionOptions } from '../src/redis/redis-connection.ts';
import { redisTests, redisUrl, replica } from './support/redis.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = ({ data }: Entry) => new TextDecoder().decode(data);
const ids = (entries: Entry[]) => entries.map(({ id }) => id);
const newKey = () => `parley:test:${randomUUID()}`;
const yes = () => true;
const no = () => false;

redisTests('all engines on one Redis', () => {
  test('after Redis has lost all data, new ids are above the old ones', async (t) => {
    const [one, two] = [await overLine(t), await overLine(t)];
    const direct = await replica(t);
    const [stream, channel] = [newKey(), newKey()];
    const entry = { key: newKey(), requests: 5, windowMs: 600_000, amount: 1 };
    const [first = ''] = await one.log.append(stream, [bytes('first')], { after: '0' });
    const followed = follow(t, two.log, stream, '0');
    await eventually('the first is seen', () => followed.seen.length === 1);
    const received: string[] = [];
    await two.keyValue.subscribe(channel, (message) => received.push(message));
    await one.keyValue.countAll([{ ...entry, amount: 5 }]);

    for (const { line } of [one, two]) await line.cut();
    await direct.command(['DEL', stream, entry.key]);
    await direct.command(['SCRIPT', 'FLUSH']);
    for (const { log, keyValue } of [one, two]) {
      t.like(await t.throwsAsync(keyValue.countAll([entry])), { kind: 'unavailable' });
      t.like(await t.throwsAsync(log.read(stream, { after: '0' })), { kind: 'unavailable' });
    }
    for (const { line } of [one, two]) await line.restore();
    await eventually('both are back', () => Promise.all([one, two].map(({ log }) => log.ping())).then(yes, no));
    t.like(await two.log.read(stream, { after: first }), { complete: false, oldestId: undefined, entries: [] });
    t.true((await two.keyValue.countAll([entry])).counted);

    const [second = ''] = await one.log.append(stream, [bytes('second')], { after: '0' });
    const [third = ''] = await two.log.append(stream, [bytes('third')], { after: second });
    t.true(compareEventIds(second, first) > 0 && compareEventIds(third, second) > 0);
    t.like(await one.log.read(stream, { after: first }), { complete: false, oldestId: second });
    await eventually('all are seen', () => followed.seen.length === 3);
    t.deepEqual(ids(followed.seen), [first, second, third]);
    t.true(followed.interruptions() >= 1);
    await one.keyValue.publish(channel, 'again');
    await eventually('it is received', () => received.length === 1);
  });

  test('silent connections are replaced, each independently', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-redis-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const logFile = join(folder, 'log');
    const log = createLogger('redis', { LOG_LEVEL: 'warn', LOG_FILE: logFile });
    // The timeout gives the reader enough time to begin to follow the stream on a busy machine.
    const one = await overLine(t, { timeoutMs: 1_000, log });
    const stream = newKey();
    const followed = follow(t, one.log, stream);
    await eventually('it is followed', () => followed.isOpen());
    one.line.hold();
    await eventually('the connection is closed', () =>
      one.log
        .append(stream, [bytes('during')])
        .then(yes, (error: unknown) => isDomainError(error) && error.message === 'Redis is unavailable'),
    );
    // Meanwhile no command was sent over the connection for subscriptions.
    await eventually('the one for subscriptions is closed', () =>
      /"link":"listening".*connection failed/u.test(readFileSync(logFile, 'utf8')),
    );
    await eventually('others are connected', () => one.log.ping().then(yes, no));
    await one.log.append(stream, [bytes('after')]);
    await eventually('it is seen', () => followed.seen.some((each) => text(each) === 'after'));
    t.deepEqual(ids(followed.seen).toSorted(compareEventIds), ids(followed.seen));
    t.true(followed.interruptions() >= 1);
  });
});

/** A process, as Redis sees it. Its connection to Redis can be cut, or held so that no data passes. */
async function overLine(t: ExecutionContext, options: Partial<RedisConnectionOptions> = {}) {
  const line = await databaseProxy(redisUrl);
  t.teardown(() => line.close());
  const connection = await replica(t, { url: line.url, ...options });
  return { line, log: redisEventLog(connection), keyValue: redisKeyValue(connection) };
}

/** Collects the stream's entries in the returned `seen` until the test ends. */
function follow(t: ExecutionContext, log: EventLog, stream: string, after = 'now') {
  const over = new AbortController();
  t.teardown(() => over.abort());
  const seen: Entry[] = [];
  let interruptions = 0;
  let isOpen = false;
  void (async () => {
    const tail = await log.tail(stream, { after }, over.signal);
    isOpen = true;
    for await (const entries of tail) {
      seen.push(...entries);
      if (entries.length === 0) interruptions++;
    }
  })();
  return { seen, interruptions: () => interruptions, isOpen: () => isOpen };
}
