import { setImmediate } from 'node:timers/promises';
import { answerBudget } from '@parley/kernel/answer-budget';
import { graphAnswer } from '@parley/subgraph/graph-answer';
import test from 'ava';
import { resolvers } from '../src/graph/resolvers.ts';
import type { Asker } from '../src/passwords.ts';
import { anybody, callerOf, identityApp, signUp, somebody } from './support/identity-app.ts';

const password = 'correct horse battery';

test('a sign-in has two passwords under way at once; the rest is refused before anything is done, and nobody else waits', async (t) => {
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
  await setImmediate(); // the first of them is still being hashed
  t.is(transactions, 2);
  const others = [
    app.login({ ...anybody, ip: '192.0.2.2' }, { email: input.email, password }),
    app.register({ ...anybody, ip: '192.0.2.3' }, somebody(), null),
    app.changePassword(caller, { newPassword: 'another long password' }),
  ];
  const outcomes = await Promise.allSettled(flood);

  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') t.like(outcome.reason, { kind: 'tooManyRequests' });
  for (const outcome of await Promise.allSettled(others)) t.is(outcome.status, 'fulfilled', JSON.stringify(outcome));
  t.true(await app.changePassword(busy, { newPassword: 'and another one' }), 'what has ended no longer counts');
});

test('a sign-in that is too old to change a password does not keep another of its user from it', async (t) => {
  const { app, advance, ports } = await identityApp(t, { reauthMaxAgeS: 300 });
  const { caller: old, input } = await signUp(app);
  advance(301_000);
  const recent = await callerOf(app, await app.login(anybody, { email: input.email, password }));
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

test('whatever hashes a password does so for the client’s network and for the request that asks', async (t) => {
  const { app, ports } = await identityApp(t);
  const { caller, input } = await signUp(app);
  const askers: Asker[] = [];
  const { hash, verify } = ports.passwords;
  ports.passwords.hash = (given, asker) => {
    askers.push(asker);
    return hash(given, asker);
  };
  ports.passwords.verify = (passwordHash, given, asker) => {
    askers.push(asker);
    return verify(passwordHash, given, asker);
  };
  const gone = new AbortController().signal;
  const { login, register, changePassword } = resolvers.Mutation;
  const ip = '2001:db8:1:2::9';
  const info = {} as never; // none of them looks at it
  const request = { ports, answer: graphAnswer(answerBudget(0)), gone };
  await register({}, { input: somebody() }, { ...request, caller: { ...anybody, ip } }, info);
  await login({}, { input: { email: input.email, password } }, { ...request, caller: { ...anybody, ip } }, info);
  await changePassword(
    {},
    { input: { newPassword: 'another long password' } },
    { ...request, caller: { ...caller, ip } },
    info,
  );

  const address = '2001:db8:1:2::/64';
  t.deepEqual(askers, [
    { address, user: undefined, signIn: undefined, gone },
    { address, user: undefined, signIn: undefined, gone },
    { address, user: caller.userId, signIn: caller.signInId, gone },
  ]);
});

test('a password whose caller has gone is not hashed, and changes nothing', async (t) => {
  const { app } = await identityApp(t);
  const { caller, input } = await signUp(app);
  const gone = AbortSignal.abort();
  const given = { newPassword: 'another long password' };
  t.like(await t.throwsAsync(app.changePassword(caller, given, gone)), { kind: 'unavailable' });
  t.like(await t.throwsAsync(app.login(anybody, { email: input.email, password: 'wrong' }, gone)), {
    kind: 'unavailable',
  });
  await t.notThrowsAsync(app.login(anybody, { email: input.email, password }));
});
