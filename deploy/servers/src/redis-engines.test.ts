import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDomainError } from '@parley/chassis/errors';
import { compareEventIds, type EventId } from '@parley/chassis/event-log/event-id';
import type { Entry, EventLog } from '@parley/chassis/event-log/event-log';
import { redisEventLog } from '@parley/chassis/event-log/redis-event-log';
import { redisKeyValue } from '@parley/chassis/key-value/redis-key-value';
import { createLogger } from '@parley/chassis/log';
import { type RedisConnectionOptions, redisConnection } from '@parley/chassis/redis/redis-connection';
import { eventually } from '@parley/chassis/testing/eventually';
import type { ExecutionContext } from 'ava';
import { startServers } from './start-servers.ts';
import { emptyFolder } from './testing/folder.ts';
import { serverTest } from './testing/server-test.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = ({ data }: Entry) => new TextDecoder().decode(data);
const stream = 'parley:1:session:1:events';
const entry = { key: 'parley:test:count', requests: 5, windowMs: 600_000, amount: 1 };

serverTest(
  ['redis'],
  'Redis killed and started again loses nothing that it took, and all go on by themselves',
  async (t) => {
    const { server, one, two } = await replicas(t);
    const followed = [follow(t, one.log), follow(t, two.log)];
    await eventually('both follow', () => followed.every(({ isOpen }) => isOpen()));
    const writer = write(one.log);
    await eventually('entries come', () => writer.taken.length >= 50);
    await one.keyValue.countAll([{ ...entry, amount: 4 }]);

    for (let round = 0; round < 2; round++) {
      const before = writer.taken.length;
      await server.kill();
      await refused(t, one, two);
      await server.start();
      await eventually('it goes on', () => writer.taken.length >= before + 50);
      // The connection that listens comes back by itself, and may do so after the one that writes.
      await eventually('both were told', () => followed.every(({ interruptions }) => interruptions() === round + 1));
    }
    await writer.stop();
    for (const { seen } of followed) {
      await eventually('all is seen', () => seen.length >= writer.taken.length);
      t.deepEqual(ids(seen).toSorted(compareEventIds), ids(seen));
      t.is(new Set(ids(seen)).size, seen.length);
      // What was refused to the writer may have been taken all the same, just before the end.
      const taken = new Set(writer.taken);
      t.deepEqual(
        ids(seen).filter((id) => taken.has(id)),
        writer.taken,
      );
    }
    t.like(await two.keyValue.countAll([{ ...entry, amount: 2 }]), { counted: false, refused: { count: 4 } });
  },
);

serverTest(['redis'], 'Redis that comes back empty begins anew, with ids that go on above the old ones', async (t) => {
  const { server, one, two } = await replicas(t);
  const [first = ''] = await one.log.append(stream, [bytes('first')], { after: '0' });
  const followed = follow(t, two.log, '0');
  await eventually('the first is seen', () => followed.seen.length === 1);
  const heard: string[] = [];
  await two.keyValue.subscribe('parley:test:news', (message) => heard.push(message));
  await one.keyValue.countAll([{ ...entry, amount: 5 }]);

  await server.kill();
  server.clear();
  await refused(t, one, two);
  await server.start();
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
  await one.keyValue.publish('parley:test:news', 'again');
  await eventually('it is heard', () => heard.length === 1);
});

serverTest(
  ['redis'],
  'Redis that hangs makes every call unavailable in a second, and all go on when it answers',
  async (t) => {
    const { server, one, two } = await replicas(t);
    const followed = follow(t, two.log);
    await eventually('it is followed', () => followed.isOpen());
    await one.log.append(stream, [bytes('before')]);
    await eventually('it is seen', () => followed.seen.length === 1);
    const pid = server.pid() ?? 0;
    process.kill(pid, 'SIGSTOP');
    try {
      const start = performance.now();
      const calls = Array.from({ length: 50 }, () => one.keyValue.countAll([entry]));
      for (const call of calls) t.like(await t.throwsAsync(call), { kind: 'unavailable' });
      t.true(performance.now() - start < 3_000);
      const later = performance.now();
      t.like(await t.throwsAsync(one.log.append(stream, [bytes('during')])), { kind: 'unavailable' });
      t.true(performance.now() - later < 500, 'nobody waits again for what is known to hang');
      await eventually('three seconds have passed', () => performance.now() - start > 3_000);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await eventually('it answers', () => Promise.all([one, two].map(({ log }) => log.ping())).then(yes, no));
    await one.log.append(stream, [bytes('after')]);
    await eventually('it is seen', () => followed.seen.some((each) => text(each) === 'after'));
    t.deepEqual(ids(followed.seen).toSorted(compareEventIds), ids(followed.seen));
  },
);

serverTest(['redis'], 'Redis that hangs for long is taken for dead, and found again', async (t) => {
  const logFile = join(emptyFolder(t), 'redis.log');
  const log = createLogger('redis', { LOG_LEVEL: 'warn', LOG_FILE: logFile });
  const { server, one } = await replicas(t, { timeoutMs: 200, log });
  const followed = follow(t, one.log);
  await eventually('it is followed', () => followed.isOpen());
  const pid = server.pid() ?? 0;
  process.kill(pid, 'SIGSTOP');
  try {
    await eventually('the connection is given up', () =>
      one.log
        .append(stream, [bytes('during')])
        .then(no, (error: unknown) => isDomainError(error) && error.message === 'Redis is away'),
    );
    // Each connection finds out by itself; one of which nothing was asked meanwhile is the later one.
    await eventually('so is the one that listens', () =>
      /"link":"listening".*is away/u.test(readFileSync(logFile, 'utf8')),
    );
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await eventually('another one is there', () => one.log.ping().then(yes, no));
  await one.log.append(stream, [bytes('after')]);
  await eventually('it is seen', () => followed.seen.some((each) => text(each) === 'after'));
  t.true(followed.interruptions() >= 1);
});

const yes = () => true;
const no = () => false;
const ids = (entries: Entry[]) => entries.map(({ id }) => id);

/** Two processes as far as Redis can tell, and a Redis of their own. */
async function replicas(t: ExecutionContext, options: Pick<RedisConnectionOptions, 'timeoutMs' | 'log'> = {}) {
  t.timeout(120_000);
  const servers = await startServers({ only: ['redis'] });
  t.teardown(() => servers.stop());
  const open = async () => {
    const connection = redisConnection({ url: servers.env.REDIS_URL ?? '', ...options });
    t.teardown(() => connection.stop());
    await connection.start();
    return { log: redisEventLog(connection), keyValue: redisKeyValue(connection) };
  };
  const [one, two] = [await open(), await open()];
  await Promise.all([one.log.ping(), two.log.ping()]);
  return { server: servers.server('redis'), one, two };
}

type Replica = Awaited<ReturnType<typeof replicas>>['one'];

async function refused(t: ExecutionContext, ...all: Replica[]): Promise<void> {
  for (const { log, keyValue } of all) {
    t.like(await t.throwsAsync(keyValue.countAll([entry])), { kind: 'unavailable' });
    t.like(await t.throwsAsync(log.read(stream, { after: '0' })), { kind: 'unavailable' });
  }
}

/** Fills `seen` for as long as the test runs. */
function follow(t: ExecutionContext, log: EventLog, after = 'now') {
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

/** Appends one entry after another, again where the log is away. `taken` are the ids that it was given. */
function write(log: EventLog) {
  const taken: EventId[] = [];
  const over = new AbortController();
  const done = (async () => {
    for (let n = 0; !over.signal.aborted; n++) {
      try {
        taken.push(...(await log.append(stream, [bytes(`${n}`)], { after: taken.at(-1) ?? '0' })));
      } catch (error) {
        if (!isDomainError(error, 'unavailable')) throw error;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  })();
  return {
    taken,
    async stop() {
      over.abort();
      await done;
    },
  };
}
