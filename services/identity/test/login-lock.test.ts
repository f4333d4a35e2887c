import test from 'ava';
import { anybody, type IdentityApp, identityApp, signUp } from './support/identity-app.ts';

const password = 'correct horse battery';
const refused = { kind: 'unauthenticated', message: 'Wrong credentials', reason: undefined };
const from = (ip: string) => ({ ...anybody, ip });

async function fail({ app }: IdentityApp, email: string, times: number, ipOf: (n: number) => string): Promise<void> {
  for (let n = 0; n < times; n += 1)
    await app.login(from(ipOf(n)), { email, password: 'wrong password' }).catch(() => undefined);
}

test('after ten failures of an identifier from one address both are locked for a quarter of an hour', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { input } = await signUp(app);
  await fail(identity, input.email, 9, () => '192.0.2.7');
  await t.notThrowsAsync(app.login(from('192.0.2.7'), { email: input.email, password })); // and the count begins anew
  await fail(identity, input.email, 10, () => '192.0.2.7');

  t.like(
    await t.throwsAsync(app.login(from('192.0.2.7'), { email: ` ${input.email.toUpperCase()}`, password })),
    refused,
  );
  await t.notThrowsAsync(app.login(from('192.0.2.8'), { email: input.email, password }));
  advance(14 * 60_000);
  t.like(await t.throwsAsync(app.login(from('192.0.2.7'), { email: input.email, password })), refused);
  advance(2 * 60_000);
  await t.notThrowsAsync(app.login(from('192.0.2.7'), { email: input.email, password }));
});

test('after fifty failures in an hour over all addresses only those get in that the account has used', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { input } = await signUp(app);
  await app.login(from('2001:db8:1:2::1'), { email: input.email, password });
  await fail(identity, input.email, 50, (n) => `198.51.100.${n}`);
  const login = (ip: string) => app.login(from(ip), { email: input.email, password });

  for (const stranger of ['203.0.113.9', '2001:db8:1:3::1', '', 'not an address'])
    t.like(await t.throwsAsync(login(stranger)), refused);
  await t.notThrowsAsync(login('192.0.2.1')); // where it registered
  await t.notThrowsAsync(login('2001:db8:1:2:ffff::9')); // the same network
  advance(61 * 60_000);
  await t.notThrowsAsync(login('203.0.113.9'));
});

test('an account that is not there locks like one that is', async (t) => {
  const identity = await identityApp(t);
  await fail(identity, 'nobody@example.test', 10, () => '192.0.2.7');
  t.is(await identity.ports.loginLock.door('nobody@example.test', '192.0.2.7'), 'closed');
  t.is(await identity.ports.loginLock.door('nobody@example.test', '192.0.2.8'), 'open');
});
