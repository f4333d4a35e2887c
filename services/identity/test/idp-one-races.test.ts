import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { anonymous, newRegistration, signUp } from './support/identity-app.ts';
import { idpOneApp, newPerson } from './support/idp-one-app.ts';

const from = (n: number) => ({ ...anonymous, ip: `198.51.100.${n}` });
const acme = { id: 'acme', name: 'Acme Ltd' };

/** Returns an `idpOneApp` with two replicas, which are called alternately. */
async function onReplicas(t: Parameters<typeof idpOneApp>[0]) {
  const all = await idpOneApp(t);
  const apps = [all.app, await all.replica()];
  const at = (n: number) => apps[n % apps.length] ?? all.app;
  const enterAtOnce = (people: ReturnType<typeof newPerson>[]) =>
    Promise.all(people.map((person, n) => all.enter(person, from(n), at(n))));
  return { ...all, at, enterAtOnce };
}

test('of 20 parallel uses of one ticket one succeeds, and the provider is asked once', async (t) => {
  const { at, provider, counts } = await onReplicas(t);
  const ticket = provider.ticketFor(newPerson());
  const gate = createGate();
  provider.holdAt(gate);
  const uses = Array.from({ length: 20 }, (_, n) => at(n).loginWithIdpOne(from(n % 4), { ticket }));
  const others = uses.map((use) =>
    use.then(
      () => 'in',
      (error: unknown) => error,
    ),
  );
  // While the provider has not answered, the first call waits and the other 19 are refused.
  let refused = 0;
  const nineteen = new Promise<void>((resolve) => {
    for (const each of others) void each.then(() => (refused += 1) === 19 && resolve());
  });
  await nineteen;
  gate.open();
  const ends = await Promise.all(others);
  t.is(ends.filter((end) => end === 'in').length, 1);
  for (const end of ends)
    if (end !== 'in') t.like(end, { kind: 'unauthenticated', message: 'Invalid or expired ticket' });
  t.is(provider.exchanges.length, 1);
  t.like(await counts(), { users: 1, tenants: 1, signIns: 1 });
});

test('a new identity that signs in many times at once gets one account', async (t) => {
  const { enterAtOnce, counts } = await onReplicas(t);
  for (const company of [null, acme]) {
    const before = await counts();
    const person = newPerson({ company });
    await enterAtOnce(Array.from({ length: 8 }, () => person));
    const { users, tenants, members, signIns } = before;
    t.deepEqual(await counts(), {
      users: users + 1,
      tenants: tenants + 1,
      members: members + 1,
      signIns: signIns + 8,
    });
  }
});

test('the first users of a company at once share one tenant, which one of them owns', async (t) => {
  const { enterAtOnce, counts, database } = await onReplicas(t);
  await enterAtOnce(Array.from({ length: 8 }, () => newPerson({ company: acme })));
  t.like(await counts(), { users: 8, tenants: 1, members: 8 });
  const roles = await database.transactShared<{ role: string }[]>(({ knex }) => knex('memberships').select('role'));
  t.is(roles.filter(({ role }) => role === 'OWNER').length, 1);
});

test('an account whose email two identities have at once is linked to one, the other one is refused', async (t) => {
  const { app, enter, at, messages, counts } = await onReplicas(t);
  const { input } = await signUp(app);
  const before = await counts();
  const people = [newPerson({ email: input.email }), newPerson({ email: input.email })];
  const ends = await Promise.allSettled(people.map((person, n) => enter(person, from(n), at(n))));
  t.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  t.like(ends.find((end) => end.status === 'rejected')?.reason, { kind: 'conflict' });
  t.deepEqual(await counts(), { ...before, signIns: before.signIns + 1 });
  t.deepEqual((await messages()).map(({ subject }) => subject).toSorted(), [
    'Parley: a sign-in was refused',
    'Parley: a way to sign in was added',
  ]);
});

/**
 * Registers the same email after the first transaction of a sign-in has looked up the account, and before the next transaction of the
 * sign-in.
 */
async function registeredMeanwhile(t: Parameters<typeof idpOneApp>[0], emailVerified: boolean) {
  const all = await idpOneApp(t);
  const { app, ports, provider } = all;
  const input = newRegistration();
  const { transactShared } = ports.database;
  let isDone = false;
  ports.database = {
    ...ports.database,
    async transactShared(work, how) {
      if (how?.lockQueue?.row !== undefined && !isDone) {
        isDone = true;
        await app.register(anonymous, { input });
      }
      return transactShared(work, how);
    },
  };
  const ticket = provider.ticketFor(newPerson({ email: input.email, emailVerified }));
  const tokens = await app.loginWithIdpOne(anonymous, { ticket });
  t.true(isDone);
  return { ...all, input, tokens };
}

test('an email that is registered between look-up and insert is linked if it is verified', async (t) => {
  const { counts } = await registeredMeanwhile(t, true);
  t.like(await counts(), { users: 1, tenants: 1, signIns: 2 });
});

test('an email that is registered between look-up and insert is omitted if it is not verified', async (t) => {
  const { counts, database } = await registeredMeanwhile(t, false);
  t.like(await counts(), { users: 2, tenants: 2, signIns: 2 });
  const emails = await database.transactShared<{ email: string | null }[]>(({ knex }) => knex('users').orderBy('id'));
  t.is(emails.filter(({ email }) => email === null).length, 1);
});

for (const [has, change] of [
  ['its email', { idp_one_subject: null }],
  ['no email', { idp_one_subject: null, email: null }],
] as const) {
  test(`an identity that is unlinked between look-up and sign-in does not sign in to an account with ${has}`, async (t) => {
    const { app, enter, database, ports, provider, counts } = await idpOneApp(t);
    const { caller } = await signUp(app);
    const person = newPerson({ emailVerified: false });
    await app.linkIdentity(caller, { provider: 'IDP_ONE', providerToken: provider.ticketFor(person) });
    const { transactShared } = ports.database;
    let isDone = false;
    ports.database = {
      ...ports.database,
      async transactShared(work, how) {
        if (how?.lockQueue?.user !== undefined && !isDone) {
          isDone = true;
          await database.transactShared(({ knex }) => knex('users').update(change));
        }
        return transactShared(work, how);
      },
    };
    const { users, tenants, members, signIns } = await counts();
    await enter(person);
    t.true(isDone);
    const one = { users: users + 1, tenants: tenants + 1, members: members + 1, signIns: signIns + 1 };
    t.deepEqual(await counts(), one);
  });
}

test('a company whose tenant is deleted while new users join has one live tenant, and none is in the deleted one', async (t) => {
  const { app, at, enter, entered, database } = await onReplicas(t);
  for (let round = 0; round < 5; round += 1) {
    const company = { id: `company ${round}`, name: 'Acme' };
    const owner = await entered(newPerson({ company }));
    const joining = Array.from({ length: 4 }, (_, n) => enter(newPerson({ company }), from(n), at(n)));
    const [, ...joined] = await Promise.all([app.deleteTenant(owner), ...joining]);
    t.is(joined.length, 4);
    await enter(newPerson({ company }));
    const live = await database.transactShared(({ knex }) =>
      knex('tenants').where({ idp_one_company: company.id }).whereNull('deleted_at'),
    );
    t.is(live.length, 1);
    const inDeleted = await database.transactShared(({ knex }) =>
      knex('sign_ins').join('tenants', 'tenants.id', 'sign_ins.tenant_id').whereNotNull('tenants.deleted_at'),
    );
    t.deepEqual(inDeleted, []);
  }
});

test('linking one identity to two accounts at once succeeds for one', async (t) => {
  const { app, at, provider, messages } = await onReplicas(t);
  for (let round = 0; round < 5; round += 1) {
    const [ada, eve] = [await signUp(app), await signUp(app)];
    const person = newPerson();
    const link = ({ caller }: typeof ada, n: number) =>
      at(n).linkIdentity(caller, { provider: 'IDP_ONE', providerToken: provider.ticketFor(person) });
    const ends = await Promise.allSettled([ada, eve].map(link));
    t.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    t.like(ends.find((end) => end.status === 'rejected')?.reason, { kind: 'conflict' });
  }
  t.is((await messages()).length, 5);
});

test('who signs in with a password while the account is linked keeps no sign-in from before', async (t) => {
  const { app, enter, at, database } = await onReplicas(t);
  for (let round = 0; round < 5; round += 1) {
    const { input, caller } = await signUp(app);
    await Promise.allSettled([
      enter(newPerson({ email: input.email }), from(round), at(round)),
      app.changePassword(caller, { newPassword: 'another long password' }),
      app.generateApiKey(caller),
    ]);
    const keys = await database.transactShared(({ knex }) =>
      knex('api_keys').where({ created_by: caller.userId }).whereNull('revoked_at'),
    );
    t.deepEqual(keys, []);
    t.like(await t.throwsAsync(app.resolveSignIn(caller.signInId)), { kind: 'notFound' });
  }
});
