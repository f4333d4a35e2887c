import { setImmediate } from 'node:timers/promises';
import { answerBudget } from '@parley/kernel/answer-budget';
import type { Caller } from '@parley/kernel/caller';
import { graphAnswer } from '@parley/subgraph/graph-answer';
import { graphContext } from '@parley/subgraph/subgraph';
import { eventually } from '@parley/testing/eventually';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { resolvers } from '../src/graph/resolvers.ts';
import type { Requester } from '../src/passwords/passwords.ts';
import { anonymous, callerOf, identityApp, newRegistration, signUp } from './support/identity-app.ts';

const password = 'correct horse battery';

test('a sign-in may hash two passwords at once; more are refused before any work, and other users are not affected', async (t) => {
  const { app, ports } = await identityApp(t);
  const { caller: busy } = await signUp(app);
  const { caller } = await signUp(app);
  const { input } = await signUp(app);
  let transactions = 0;
  const { transactShared } = ports.database;
  ports.database = {
    ...ports.database,
    transactShared: (work) => {
      transactions += 1;
      return transactShared(work);
    },
  };
  const flood = Array.from({ length: 30 }, (_, n) =>
    app.changePassword({ ...busy, ip: `198.51.100.${n}` }, { newPassword: `another long password ${n}` }),
  );
  await setImmediate(); // the first password is still being hashed
  t.is(transactions, 2);
  const others = [
    app.login({ ...anonymous, ip: '192.0.2.2' }, { email: input.email, password }),
    app.register({ ...anonymous, ip: '192.0.2.3' }, { input: newRegistration() }),
    app.changePassword(caller, { newPassword: 'another long password' }),
  ];
  const outcomes = await Promise.allSettled(flood);

  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') t.like(outcome.reason, { kind: 'tooManyRequests' });
  for (const outcome of await Promise.allSettled(others)) t.is(outcome.status, 'fulfilled', JSON.stringify(outcome));
  t.true(await app.changePassword(busy, { newPassword: 'and another one' }), 'what has ended no longer counts');
});

test('requests of a sign-in that is too old do not block a recent one of the same user', async (t) => {
  const { app, advance, ports } = await identityApp(t, { reauthMaxAgeS: 300 });
  const { caller: old, input } = await signUp(app);
  advance(301_000);
  const recent = await callerOf(app, await app.login(anonymous, { email: input.email, password }));
  const newPassword = 'another long password';
  const { transactShared } = ports.database;
  const { promise: asked, resolve: answer } = Promise.withResolvers<void>();
  ports.database = { ...ports.database, transactShared: (work) => asked.then(() => transactShared(work)) };
  const flood = Array.from({ length: 30 }, () => app.changePassword(old, { newPassword }));
  const changed = app.changePassword({ ...recent, ip: '192.0.2.2' }, { newPassword });
  answer();
  t.is((await Promise.allSettled(flood)).filter(({ status }) => status === 'fulfilled').length, 0);
  t.true(await changed);
});

test('every operation that hashes a password queues it by client network, user and abort signal', async (t) => {
  const { app, ports } = await identityApp(t);
  const { caller, input } = await signUp(app);
  const requesters: Requester[] = [];
  const { hash, verify } = ports.passwords;
  ports.passwords.hash = (given, requester) => {
    requesters.push(requester);
    return hash(given, requester);
  };
  ports.passwords.verify = (passwordHash, given, requester) => {
    requesters.push(requester);
    return verify(passwordHash, given, requester);
  };
  const signal = new AbortController().signal;
  const { login, register, changePassword } = resolvers.Mutation;
  const ip = '2001:db8:1:2::9';
  const info = { path: { key: 'field' } } as never; // the only part of `info` that these resolvers use
  const by = (person: Caller) => ({ ports, ...graphContext({ ...person, ip }, signal, graphAnswer(answerBudget(0))) });
  await register({}, { input: newRegistration() }, by(anonymous), info);
  await login({}, { input: { email: input.email, password } }, by(anonymous), info);
  await changePassword({}, { input: { newPassword: 'another long password' } }, by(caller), info);

  const from = { address: '2001:db8:1:2::/64', network: '2001:db8:1::/48', signal };
  t.deepEqual(requesters, [
    { ...from, isKnown: false, user: undefined, signIn: undefined },
    { ...from, isKnown: false, user: caller.userId, signIn: undefined },
    { ...from, isKnown: true, user: caller.userId, signIn: caller.signInId },
  ]);
});

test('failing sign-ins from many networks do not delay one from an address that the account has used', async (t) => {
  const { app } = await identityApp(t);
  const { input } = await signUp(app);
  const home = { ...anonymous, ip: '192.0.2.7' };
  await app.login(home, { email: input.email, password });
  let failed = 0;
  const flood = Array.from({ length: 80 }, (_, n) =>
    app.login({ ...anonymous, ip: `10.${n}.0.1` }, { email: `nobody${n}@example.test`, password }).catch(() => {
      failed += 1;
    }),
  );
  await eventually('the first have failed', () => failed > 0);
  const before = failed;
  await app.login(home, { email: input.email, password });
  t.true(failed - before < 40, `${failed - before} of 80 went before it`);
  await Promise.all(flood);
});

test('an aborted request hashes no password and changes nothing', async (t) => {
  const { app } = await identityApp(t);
  const { caller, input } = await signUp(app);
  const signal = AbortSignal.abort();
  const given = { newPassword: 'another long password' };
  t.like(await t.throwsAsync(app.changePassword(requestOf(caller, { signal }), given)), { kind: 'unavailable' });
  t.like(await t.throwsAsync(app.login(requestOf(anonymous, { signal }), { email: input.email, password: 'wrong' })), {
    kind: 'unavailable',
  });
  await t.notThrowsAsync(app.login(anonymous, { email: input.email, password }));
});
