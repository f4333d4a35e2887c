import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { hash } from '@node-rs/argon2';
import test, { type ExecutionContext } from 'ava';
import { createPasswords } from './passwords.ts';

const asker = { address: '192.0.2.1' };
const wide = { perUser: 1_000, perAddress: 1_000 };

function passwordsOf(t: ExecutionContext, options: Parameters<typeof createPasswords>[0]) {
  const passwords = createPasswords(options);
  t.teardown(() => passwords.close());
  return passwords;
}

/** The threads of this process that hash, each with its priority. */
function hashingThreads(): { nice: number }[] {
  return readdirSync('/proc/self/task').flatMap((id) => {
    const [, name, rest = ''] = /\((.*)\) (.*)/su.exec(readFileSync(`/proc/self/task/${id}/stat`, 'utf8')) ?? [];
    return name === 'passwords' ? [{ nice: Number(rest.split(' ')[16]) }] : [];
  });
}

test('a password is argon2id with OWASP’s parameters, and verifies', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 2, waiting: 10 });
  const stored = await passwords.hash('correct horse', asker);

  t.regex(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  t.true(await passwords.verify(stored, 'correct horse', asker));
  t.false(await passwords.verify(stored, 'correct horsf', asker));
});

test('without a hash the answer is no, also for the password behind the stand-in', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 2, waiting: 10 });
  for (const nobody of [null, undefined, '']) t.false(await passwords.verify(nobody, 'x', asker));
});

test('beyond the queue a call is refused as unavailable, and those in it are served', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 2 });
  const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => passwords.hash('correct horse', asker)));

  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 3);
  for (const outcome of outcomes) if (outcome.status === 'rejected') t.is(outcome.reason.kind, 'unavailable');
  await t.notThrowsAsync(passwords.hash('afterwards', asker));
});

test('a user and an address have so many requests under way; what has ended no longer counts', async (t) => {
  const passwords = passwordsOf(t, { perUser: 1, perAddress: 2, atOnce: 1, waiting: 10 });
  const first = await passwords.enter({ address: 'a', user: 1 });
  const error = await t.throwsAsync(passwords.enter({ address: 'b', user: 1 }), { message: /this user/ });
  t.like(error, { kind: 'tooManyRequests' });
  await passwords.enter({ address: 'a', user: 2 });
  await t.throwsAsync(passwords.enter({ address: 'a', user: 3 }), { message: /this address/ });
  first[Symbol.dispose]();
  await t.notThrowsAsync(passwords.enter({ address: 'a', user: 1 }));
});

test('one sign-in of a user leaves room for another, within what the user may', async (t) => {
  const passwords = passwordsOf(t, { perUser: 4, perAddress: 1_000, atOnce: 1, waiting: 10 });
  const enter = (n: number) => passwords.enter({ address: `a${n}`, user: 1, signIn: `s${n}` });
  await enter(1);
  const second = await enter(1);
  t.like(await t.throwsAsync(enter(1), { message: /this sign-in/ }), { kind: 'tooManyRequests' });
  await enter(2);
  await enter(2);
  await t.throwsAsync(enter(3), { message: /this user/ });
  second[Symbol.dispose]();
  await t.notThrowsAsync(enter(3));
});

test('addresses are served in turn, and of who has gone only what is being hashed is done', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 3 });
  const going = new AbortController();
  const done: string[] = [];
  const ask = async (address: string, gone?: AbortSignal) => {
    await passwords.hash('correct horse', { address, gone });
    done.push(address);
  };
  const first = ask('a', going.signal);
  const leaving = ask('b', going.signal);
  const others = [ask('c'), ask('c')];
  going.abort();
  t.like(await t.throwsAsync(leaving), { kind: 'unavailable' });
  await Promise.all([first, ...others, ask('d')]);
  t.deepEqual(done, ['a', 'c', 'd', 'c']);
});

// How long others wait beside logins is measured by deploy/bench alone (`logins`): no test says it.
test('hashing leaves the event loop free', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 2 });
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  t.teardown(() => clearInterval(timer));
  await passwords.hash('correct horse', asker);
  t.true(turns > 0);
});

// Within a factor of two, on a machine that does other things too: the 5 ms between whole logins are a goal of deploy/bench alone.
test('what the stand-in costs is what a real hash costs', async (t) => {
  const fresh = await hash('x', { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 200 });
  const timesMs = { known: [] as number[], unknown: [] as number[] };
  for (let n = 0; n < 30; n += 1) {
    const which = n % 2 ? 'known' : 'unknown'; // in turn, so that a busy machine is busy for both
    const started = performance.now();
    await passwords.verify(which === 'known' ? fresh : null, 'wrong', asker);
    timesMs[which].push(performance.now() - started);
  }
  const [known, unknown] = [Math.min(...timesMs.known), Math.min(...timesMs.unknown)];
  t.true(unknown > known / 2 && unknown < known * 2, `${known} ms and ${unknown} ms`);
});

const linuxTest = process.platform === 'linux' ? test.serial : test.skip;

linuxTest('threads that hash are as many as were asked for at most, stand back for others, and end', async (t) => {
  const passwords = createPasswords({ ...wide, atOnce: 2, waiting: 10 });
  const before = hashingThreads().length;
  await Promise.all(Array.from({ length: 6 }, () => passwords.hash('correct horse', asker)));
  const threads = hashingThreads();

  t.is(threads.length - before, 2);
  t.true(
    threads.every(({ nice }) => nice > getPriority()),
    JSON.stringify(threads),
  );
  await passwords.close();
  t.is(hashingThreads().length, before);
  t.regex(await passwords.hash('afterwards', asker), /^\$argon2id/);
  await passwords.close();
});

test('whoever waits for a thread that is ended hears of it, and what is no hash compares with nothing', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 10 });
  const waiting = passwords.hash('correct horse', asker);
  await setImmediate();
  await passwords.close();

  await t.throwsAsync(waiting, { message: /has ended/ });
  await t.throwsAsync(passwords.verify('no hash at all', 'correct horse', asker));
  t.regex(await passwords.hash('correct horse', asker), /^\$argon2id/);
});
