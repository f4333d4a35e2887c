import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { hash } from '@node-rs/argon2';
import test, { type ExecutionContext } from 'ava';
import { createPasswords } from './passwords.ts';

const requester = { address: '192.0.2.1' };
const wide = { perUser: 1_000, perAddress: 1_000 };

function passwordsOf(t: ExecutionContext, options: Parameters<typeof createPasswords>[0]) {
  const passwords = createPasswords(options);
  t.teardown(() => passwords.close());
  return passwords;
}

/** Returns the hashing threads of this process with their niceness. */
function hashingThreads(): { nice: number }[] {
  return readdirSync('/proc/self/task').flatMap((id) => {
    const [, name, rest = ''] = /\((.*)\) (.*)/su.exec(readFileSync(`/proc/self/task/${id}/stat`, 'utf8')) ?? [];
    return name === 'passwords' ? [{ nice: Number(rest.split(' ')[16]) }] : [];
  });
}

test('passwords are hashed with argon2id and OWASP’s parameters, and verify', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 2, waiting: 10 });
  const stored = await passwords.hash('correct horse', requester);

  t.regex(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  t.true(await passwords.verify(stored, 'correct horse', requester));
  t.false(await passwords.verify(stored, 'correct horsf', requester));
});

test('verification without a hash is false', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 2, waiting: 10 });
  for (const nobody of [null, undefined, '']) t.false(await passwords.verify(nobody, 'x', requester));
});

test('a full queue refuses as unavailable, and queued calls are served', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 2 });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 6 }, () => passwords.hash('correct horse', requester)),
  );

  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 3);
  for (const outcome of outcomes) if (outcome.status === 'rejected') t.is(outcome.reason.kind, 'unavailable');
  await t.notThrowsAsync(passwords.hash('afterwards', requester));
});

test('concurrent requests per user and per address are limited; finished ones do not count', async (t) => {
  const passwords = passwordsOf(t, { perUser: 1, perAddress: 2, atOnce: 1, waiting: 10 });
  const first = await passwords.admit({ address: 'a', user: 1 });
  const error = await t.throwsAsync(passwords.admit({ address: 'b', user: 1 }), { message: /this user/ });
  t.like(error, { kind: 'tooManyRequests' });
  await passwords.admit({ address: 'a', user: 2 });
  await t.throwsAsync(passwords.admit({ address: 'a', user: 3 }), { message: /this address/ });
  first[Symbol.dispose]();
  await t.notThrowsAsync(passwords.admit({ address: 'a', user: 1 }));
});

test('one sign-in may use only half of its user’s limit', async (t) => {
  const passwords = passwordsOf(t, { perUser: 4, perAddress: 1_000, atOnce: 1, waiting: 10 });
  const admit = (n: number) => passwords.admit({ address: `a${n}`, user: 1, signIn: `s${n}` });
  await admit(1);
  const second = await admit(1);
  t.like(await t.throwsAsync(admit(1), { message: /this sign-in/ }), { kind: 'tooManyRequests' });
  await admit(2);
  await admit(2);
  await t.throwsAsync(admit(3), { message: /this user/ });
  second[Symbol.dispose]();
  await t.notThrowsAsync(admit(3));
});

test('addresses are served round-robin, and queued passwords of an aborted request are not hashed', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 3 });
  const controller = new AbortController();
  const done: string[] = [];
  const ask = async (address: string, signal?: AbortSignal) => {
    await passwords.hash('correct horse', { address, signal });
    done.push(address);
  };
  const first = ask('a', controller.signal);
  const aborted = ask('b', controller.signal);
  const others = [ask('c'), ask('c')];
  controller.abort();
  t.like(await t.throwsAsync(aborted), { kind: 'unavailable' });
  await Promise.all([first, ...others, ask('d')]);
  t.deepEqual(done, ['a', 'c', 'd', 'c']);
});

test('networks are served round-robin, whatever their number of addresses', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 10 });
  const done: string[] = [];
  const ask = async (address: string, network: string) => {
    await passwords.hash('correct horse', { address, network });
    done.push(address);
  };
  await Promise.all([ask('a1', 'a'), ask('a2', 'a'), ask('a3', 'a'), ask('a4', 'a'), ask('b1', 'b')]);
  t.deepEqual(done, ['a1', 'a2', 'b1', 'a3', 'a4']);
});

test('a known requester does not wait behind strangers, even if their queue is full', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 30 });
  const done: string[] = [];
  const ask = async (address: string, isKnown = false) => {
    await passwords.hash('correct horse', { address, isKnown });
    done.push(address);
  };
  const strangers = Array.from({ length: 31 }, (_, n) => ask(`stranger ${n}`));
  await t.throwsAsync(ask('one more'), { message: /Too many requests/ });
  await Promise.all([...strangers, ask('known', true)]);
  // Behind the queue it would be the last; a busy machine may delay its thread by some of the queued hashes.
  t.true(done.indexOf('known') < strangers.length / 2, done.join());
});

test('accounts are served round-robin in their own places, from however many networks each is used', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 30 });
  const done: string[] = [];
  const ask = async (address: string, user: number) => {
    await passwords.hash('correct horse', { address, network: address, isKnown: true, user });
    done.push(address);
  };
  await Promise.all([...['a1', 'a2', 'a3', 'a4'].map((address) => ask(address, 1)), ask('b1', 2)]);
  t.deepEqual(done, ['a1', 'a2', 'b1', 'a3', 'a4']);
});

// Latency of other requests during logins is measured by `logins` in deploy/bench only.
test('hashing leaves the event loop free', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 2 });
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 1);
  t.teardown(() => clearInterval(timer));
  await passwords.hash('correct horse', requester);
  t.true(ticks > 0);
});

// The two times may differ by a factor of two, because the machine may be busy; deploy/bench allows whole logins a difference of 5 ms.
test('verification without a hash takes as long as with one', async (t) => {
  const fresh = await hash('x', { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 200 });
  const timesMs = { known: [] as number[], unknown: [] as number[] };
  for (let n = 0; n < 30; n += 1) {
    const which = n % 2 ? 'known' : 'unknown'; // alternating, so that other load affects both measurements
    const started = performance.now();
    await passwords.verify(which === 'known' ? fresh : null, 'wrong', requester);
    timesMs[which].push(performance.now() - started);
  }
  const [known, unknown] = [Math.min(...timesMs.known), Math.min(...timesMs.unknown)];
  t.true(unknown > known / 2 && unknown < known * 2, `${known} ms and ${unknown} ms`);
});

const linuxTest = process.platform === 'linux' ? test.serial : test.skip;

linuxTest('at most `atOnce` threads hash, with low priority, and close ends them', async (t) => {
  const passwords = createPasswords({ ...wide, atOnce: 2, waiting: 10 });
  const before = hashingThreads().length;
  await Promise.all(Array.from({ length: 6 }, () => passwords.hash('correct horse', requester)));
  const threads = hashingThreads();

  t.is(threads.length - before, 2);
  t.true(
    threads.every(({ nice }) => nice > getPriority()),
    JSON.stringify(threads),
  );
  await passwords.close();
  t.is(hashingThreads().length, before);
  t.regex(await passwords.hash('afterwards', requester), /^\$argon2id/);
  await passwords.close();
});

test('close rejects pending passwords, and an invalid hash is an error', async (t) => {
  const passwords = passwordsOf(t, { ...wide, atOnce: 1, waiting: 10 });
  const waiting = passwords.hash('correct horse', requester);
  await setImmediate();
  await passwords.close();

  await t.throwsAsync(waiting, { message: /has ended/ });
  await t.throwsAsync(passwords.verify('no hash at all', 'correct horse', requester));
  t.regex(await passwords.hash('correct horse', requester), /^\$argon2id/);
});
