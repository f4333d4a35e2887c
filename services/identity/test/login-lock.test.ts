import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { anonymous, type IdentityApp, identityApp, signUp } from './support/identity-app.ts';

const password = 'correct horse battery';
const refused = { kind: 'unauthenticated', message: 'Wrong credentials', reason: undefined };
const from = (ip: string) => ({ ...anonymous, ip });

async function failLogins(
  { app }: IdentityApp,
  email: string,
  times: number,
  ipOf: (n: number) => string,
): Promise<void> {
  for (let n = 0; n < times; n += 1)
    await app.login(from(ipOf(n)), { email, password: 'wrong password' }).catch(() => undefined);
}

test('ten failures for one account from one address lock the pair for 15 minutes', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { input } = await signUp(app);
  await failLogins(identity, input.email, 9, () => '192.0.2.7');
  await t.notThrowsAsync(app.login(from('192.0.2.7'), { email: input.email, password })); // a correct password resets the count
  await failLogins(identity, input.email, 10, () => '192.0.2.7');

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

test('after fifty failures in an hour only addresses that the account has used can sign in', async (t) => {
  const identity = await identityApp(t);
  const { app, advance } = identity;
  const { input } = await signUp(app);
  await app.login(from('2001:db8:1:2::1'), { email: input.email, password });
  // Skips real hashing, because this test needs many failures and only their number matters.
  recordVerified(identity, (given) => given === password);
  await failLogins(identity, input.email, 50, (n) => `198.51.100.${n}`);
  const login = (ip: string) => app.login(from(ip), { email: input.email, password });

  for (const stranger of ['203.0.113.9', '2001:db8:1:3::1', '', 'not an address'])
    t.like(await t.throwsAsync(login(stranger)), refused);
  await t.notThrowsAsync(login('192.0.2.1')); // the address of the registration
  await t.notThrowsAsync(login('2001:db8:1:2:ffff::9')); // the same /64 network as the first login
  advance(61 * 60_000);
  await t.notThrowsAsync(login('203.0.113.9'));
});

test('an unknown account is locked like an existing one', async (t) => {
  const identity = await identityApp(t);
  await failLogins(identity, 'nobody@example.test', 10, () => '192.0.2.7');
  t.is(await identity.ports.loginLock.countAttempt('email nobody@example.test', '192.0.2.7'), 'locked');
  t.is(await identity.ports.loginLock.countAttempt('email nobody@example.test', '192.0.2.8'), 'unlocked');
});

test('of concurrent guesses from one address at most ten are checked, and all get the same error', async (t) => {
  const { app, ports } = await identityApp(t);
  const { input } = await signUp(app);
  const tried: string[] = [];
  const { verify } = ports.passwords;
  ports.passwords.verify = (passwordHash, given, requester) => {
    if (given !== '') tried.push(given); // during a lock, an empty password is hashed
    return verify(passwordHash, given, requester);
  };
  const guesses = Array.from({ length: 30 }, (_, n) =>
    t.throwsAsync(app.login(from('192.0.2.7'), { email: input.email, password: `wrong password ${n}` })),
  );

  for (const error of await Promise.all(guesses)) t.like(error, refused);
  t.is(tried.length, 10);
  t.like(await t.throwsAsync(app.login(from('192.0.2.7'), { email: input.email, password })), refused);
  t.is(tried.length, 10);
});

test('a correct password among concurrent wrong ones clears the lock', async (t) => {
  const { app } = await identityApp(t);
  const { input } = await signUp(app);
  const right = app.login(from('192.0.2.7'), { email: input.email, password });
  const wrong = Array.from({ length: 9 }, () =>
    app.login(from('192.0.2.7'), { email: input.email, password: 'wrong password' }).catch(() => undefined),
  );
  await t.notThrowsAsync(right);
  await Promise.all(wrong);
  await t.notThrowsAsync(app.login(from('192.0.2.7'), { email: input.email, password }));
});

test('IPv6 clients are counted by /64, and IPv4-mapped addresses as IPv4', async (t) => {
  const identity = await identityApp(t);
  const lockState = (email: string, ip: string) => identity.ports.loginLock.countAttempt(`email ${email}`, ip);
  await failLogins(identity, 'nobody@example.test', 10, (n) => `2001:db8:1:2:${n}::1`);
  t.is(await lockState('nobody@example.test', '2001:db8:1:2:ffff::'), 'locked');
  t.is(await lockState('nobody@example.test', '2001:db8:1:3::1'), 'unlocked');
  await failLogins(identity, 'nobody@example.test', 10, (n) => (n % 2 === 0 ? '192.0.2.7' : '::ffff:192.0.2.7'));
  t.is(await lockState('nobody@example.test', '192.0.2.7'), 'locked');
});

test('all spellings of an account’s email and phone share the limit of ten per address', async (t) => {
  const identity = await identityApp(t);
  const { input } = await signUp(identity.app, { phoneCode: '+44', phoneNumber: '07911123456' });
  const tried = recordVerified(identity, (given) => given === password);
  const zeros = Array.from({ length: 25 }, (_, n) => ({ phoneNumber: `${'0'.repeat(n)}7911123456` }));
  const spellings = [
    ...zeros,
    { phoneNumber: '+447911123456' },
    { phoneNumber: '+44 (0)7911 123-456' },
    { phoneNumber: ' 07911 123456' },
    { email: input.email },
    { email: ` ${input.email.toUpperCase()} ` },
  ];
  for (const spelling of spellings) {
    const guess = identity.app.login(from('192.0.2.7'), { ...spelling, password: 'wrong password' });
    t.like(await t.throwsAsync(guess), refused);
  }
  t.is(tried.length, 10);
  for (const spelling of spellings) {
    const right = identity.app.login(from('192.0.2.7'), { ...spelling, password });
    t.like(await t.throwsAsync(right, undefined, JSON.stringify(spelling)), refused);
  }
  await t.notThrowsAsync(identity.app.login(from('192.0.2.8'), { email: input.email, password }));
});

test('all spellings of an account share the limit of fifty per hour', async (t) => {
  const identity = await identityApp(t);
  const { input } = await signUp(identity.app, { phoneCode: '+44', phoneNumber: '7911123457' });
  const tried = recordVerified(identity, () => false);
  const spellings = [{ email: input.email }, { phoneNumber: '+447911123457' }, { phoneNumber: '007911123457' }];
  await Promise.all(
    Array.from({ length: 75 }, (_, n) =>
      t.throwsAsync(identity.app.login(from(`198.51.100.${n}`), { ...spellings[n % 3], password: 'wrong password' })),
    ),
  );
  t.is(tried.length, 50);
});

test('spellings of an unknown phone number share a limit', async (t) => {
  const identity = await identityApp(t);
  for (let n = 0; n < 10; n += 1) {
    const input = { phoneNumber: `${'0'.repeat(n)}7911999999`, password: 'wrong password' };
    t.like(await t.throwsAsync(identity.app.login(from('192.0.2.7'), input)), refused);
  }
  t.is(await identity.ports.loginLock.countAttempt('phone 7911999999', '192.0.2.7'), 'locked');
});

/** Replaces verification by `answer` and records the passwords compared with an account's hash. */
function recordVerified(
  { ports }: IdentityApp,
  answer: (given: string, n: number) => boolean | Promise<boolean>,
): string[] {
  const tried: string[] = [];
  ports.passwords.verify = async (passwordHash, given) => {
    if (!passwordHash) return false;
    tried.push(given);
    return answer(given, tried.length);
  };
  return tried;
}

test('of concurrent guesses from many addresses at most fifty per hour are checked', async (t) => {
  const identity = await identityApp(t);
  const { input } = await signUp(identity.app);
  const tried = recordVerified(identity, () => false);
  const guesses = (first: number) =>
    Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        t.throwsAsync(
          identity.app.login(from(`198.51.100.${first + n}`), { email: input.email, password: `wrong password ${n}` }),
        ),
      ),
    );

  for (const error of await guesses(0)) t.like(error, refused);
  t.is(tried.length, 50);
  for (const error of await guesses(100)) t.like(error, refused);
  t.is(tried.length, 50);
  identity.advance(61 * 60_000);
  await guesses(0);
  t.is(tried.length, 100);
});

test('correct passwords do not count towards the limit of fifty', async (t) => {
  const identity = await identityApp(t);
  const { input } = await signUp(identity.app);
  const tried = recordVerified(identity, (given) => given === password);
  for (let n = 0; n < 60; n += 1) await identity.app.login(from(`198.51.100.${n}`), { email: input.email, password });
  await failLogins(identity, input.email, 49, (n) => `203.0.113.${n}`);
  await t.notThrowsAsync(identity.app.login(from('192.0.2.200'), { email: input.email, password }));
  t.is(tried.length, 110);
});

test('attempts that could not be checked are UNAVAILABLE and do not count', async (t) => {
  const identity = await identityApp(t);
  const { app, ports, database } = identity;
  const { input } = await signUp(app);
  const login = (ip: string, given: string) => app.login(from(ip), { email: input.email, password: given });
  const verify = ports.passwords.verify;
  const outage = async (given: string) => {
    const atOnce = Array.from({ length: 9 }, () => t.throwsAsync(login('192.0.2.7', given)));
    for (const error of await Promise.all(atOnce)) t.like(error, { kind: 'unavailable' });
    for (let n = 0; n < 60; n += 1) t.like(await t.throwsAsync(login('192.0.2.7', given)), { kind: 'unavailable' });
  };

  ports.passwords.verify = () => Promise.reject(unavailable('Too many sign-ins at once'));
  await outage('wrong password');
  ports.database = { ...database, transactShared: () => Promise.reject(unavailable('The database is unavailable')) };
  await outage(password);
  ports.database = database;
  ports.passwords.verify = verify;

  await failLogins(identity, input.email, 9, () => '192.0.2.7');
  await t.notThrowsAsync(login('192.0.2.7', password), 'nine wrong ones do not lock');
  await t.notThrowsAsync(login('203.0.113.9', password), 'nor have there been fifty');
});

test('failures beside concurrent unchecked attempts lock only when there are ten', async (t) => {
  const identity = await identityApp(t);
  const { input } = await signUp(identity.app);
  const pending: (() => void)[] = [];
  recordVerified(identity, (given) =>
    given === 'pending password'
      ? new Promise((_, reject) => pending.push(() => reject(unavailable('Too many sign-ins at once'))))
      : given === password,
  );
  const login = (given: string) => identity.app.login(from('192.0.2.7'), { email: input.email, password: given });
  const late = Array.from({ length: 9 }, () => t.throwsAsync(login('pending password')));
  await eventually('nine are pending', () => pending.length === 9);
  t.like(await t.throwsAsync(login('wrong password')), refused);
  for (const end of pending) end();
  for (const error of await Promise.all(late)) t.like(error, { kind: 'unavailable' });
  await t.notThrowsAsync(login(password));
});

test('IPv6 zones are ignored when addresses are stored and compared', async (t) => {
  const identity = await identityApp(t);
  const { app, database } = identity;
  const { input } = await signUp(app);
  const login = (ip: string) => app.login(from(ip), { email: input.email, password });
  await login('fe80::7%eth0.100');
  await login('::ffff:192.0.2.77');
  const ips = await database.transactShared(({ knex }) => knex('sign_ins').orderBy('created_at').pluck('ip'));
  t.deepEqual(ips, ['192.0.2.1', 'fe80::7', '192.0.2.77']);

  await login('2001:db8:1:2::1%wlan0');
  // Skips real hashing, because this test needs many failures and only their number matters.
  recordVerified(identity, (given) => given === password);
  await failLogins(identity, input.email, 50, (n) => `198.51.100.${n}`);
  for (const known of ['fe80::9', 'fe80::7%eth1', '192.0.2.77', '2001:db8:1:2::5'])
    await t.notThrowsAsync(login(known), known);
  t.like(await t.throwsAsync(login('2001:db8:1:3::5%eth0')), refused);
});

test('after fifty failures in an hour the owner is mailed, once an hour; for an unknown account nobody is', async (t) => {
  const identity = await identityApp(t);
  const { app, advance, database, messages } = identity;
  const { input } = await signUp(app);
  recordVerified(identity, (given) => given === password);
  const told = async () =>
    (await messages()).map(({ to, subject }) => ('email' in to ? `${to.email}: ${subject}` : ''));
  const mail = `${input.email}: Parley: many failed sign-ins`;
  const jobs = async () => (await database.transactShared(({ knex }) => knex('jobs'))).length;

  await failLogins(identity, input.email, 49, (n) => `198.51.100.${n}`);
  t.deepEqual(await told(), []);
  await failLogins(identity, input.email, 1, () => '203.0.113.1');
  t.deepEqual(await told(), [mail]);
  advance(59 * 60_000);
  await failLogins(identity, input.email, 60, (n) => `198.51.100.${n}`);
  t.deepEqual(await told(), [mail]);
  advance(2 * 60_000);
  const strangers = Array.from({ length: 60 }, (_, n) => `203.0.113.${n}`);
  await Promise.all(strangers.map((ip) => failLogins(identity, input.email, 1, () => ip)));
  t.deepEqual(await told(), [mail, mail]);

  await failLogins(identity, 'nobody@example.test', 60, (n) => `198.51.100.${n}`);
  t.is((await told()).length, 2);
  t.is(await jobs(), 3, 'the same work is done for nobody');
});

test('a mail about failed logins that cannot be stored does not change the response', async (t) => {
  const identity = await identityApp(t);
  const { app, ports } = identity;
  const { input } = await signUp(app);
  recordVerified(identity, () => false);
  await failLogins(identity, input.email, 49, (n) => `198.51.100.${n}`);
  ports.box.seal = () => {
    throw new Error('no key');
  };
  const login = app.login(from('192.0.2.9'), { email: input.email, password: 'wrong password' });
  t.like(await t.throwsAsync(login), refused);
  t.deepEqual(await identity.messages(), []);
});
