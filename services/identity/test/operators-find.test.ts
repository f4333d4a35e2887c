import test from 'ava';
import { addMember, anonymous, signUp } from './support/identity-app.ts';
import { ofTenants, ofUsers, operator, operatorsApp } from './support/operators.ts';
import { agentOf, settlement, spendCall, usd } from './support/spend.ts';

const password = 'correct horse battery';
const ada = operator('ada');

test('tenants are found by id, part of their name and email of their owner, in pages', async (t) => {
  const { app, admin } = await operatorsApp(t);
  const people = [];
  for (const fullname of ['Zoë 100% sure', 'zoë_two', 'Max']) people.push(await signUp(app, { fullname }));
  const [first, second, third] = people.map(({ caller }) => caller.tenantId);
  const find = async (request: Parameters<typeof ofTenants>[0]) =>
    (await admin.listTenants(ada, ofTenants(request))).rows.map(({ id }) => id);

  t.deepEqual(await find({}), [first, second, third]);
  t.deepEqual(await find({ id: second }), [second]);
  t.deepEqual(await find({ name: 'ZOË' }), [first, second]);
  t.deepEqual(await find({ name: '%' }), [first]);
  t.deepEqual(await find({ name: '_' }), [second]);
  t.deepEqual(await find({ name: "' OR 1=1 --" }), []);
  t.deepEqual(await find({ owner: ` ${people[2]?.input.email.toUpperCase()} ` }), [third]);
  t.deepEqual(await find({ owner: 'nobody@example.test' }), []);
  t.deepEqual(await find({ id: first, name: 'max' }), []);
  for (const id of [0, -1, 2 ** 31 - 1]) t.deepEqual(await find({ id }), []);

  const page = await admin.listTenants(ada, ofTenants({ first: 2 }));
  t.deepEqual([page.rows.length, page.next], [2, second]);
  const rest = await admin.listTenants(ada, ofTenants({ first: 2, after: page.next ?? 0 }));
  t.deepEqual([rest.rows.map(({ id }) => id), rest.next], [[third], undefined]);
  for (const wrong of [{ first: -1 }, { first: 201 }, { after: -1 }, { name: '\0' }, { owner: '\ud800' }]) {
    t.like(await t.throwsAsync(find(wrong)), { kind: 'invalid' }, JSON.stringify(wrong));
  }

  for (const { caller } of people.slice(0, 1)) await app.deleteTenant(caller);
  const [deleted] = (await admin.listTenants(ada, ofTenants({ id: first }))).rows;
  t.true(deleted?.deletedAt instanceof Date);
});

test('users are found by id, email, phone and tenant, with their tenants and live sign-ins', async (t) => {
  const { app, admin, database, advance } = await operatorsApp(t);
  const one = await signUp(app, { phoneCode: '+44', phoneNumber: '07911 654321' });
  const two = await signUp(app);
  await addMember({ app, database }, two.caller, one.caller.tenantId);
  const find = async (request: Parameters<typeof ofUsers>[0]) =>
    (await admin.listUsers(ada, ofUsers(request))).rows.map(({ id }) => id);
  const [idOfOne, idOfTwo] = [one.caller.userId, two.caller.userId];

  t.deepEqual(await find({}), [idOfOne, idOfTwo]);
  t.deepEqual(await find({ id: idOfTwo }), [idOfTwo]);
  t.deepEqual(await find({ email: one.input.email.toUpperCase() }), [idOfOne]);
  for (const phone of ['+447911654321', '07911654321', '7911 654321']) t.deepEqual(await find({ phone }), [idOfOne]);
  t.deepEqual(await find({ phone: '+447911654322' }), []);
  t.deepEqual(await find({ tenant: one.caller.tenantId }), [idOfOne, idOfTwo]);
  t.deepEqual(await find({ tenant: two.caller.tenantId }), [idOfTwo]);
  for (const wrong of [{ phone: 'x' }, { phone: '+999999999999' }, { email: '\0' }, { first: 1_000 }]) {
    t.like(await t.throwsAsync(find(wrong)), { kind: 'invalid' }, JSON.stringify(wrong));
  }

  await app.login(anonymous, { email: two.input.email, password });
  const [user] = (await admin.listUsers(ada, ofUsers({ id: idOfTwo }))).rows;
  t.like(user, { email: two.input.email, status: 'ACTIVE', twoFactor: false, signIns: 2 });
  t.deepEqual([user?.ownerOf, user?.memberOf], [[two.caller.tenantId], [one.caller.tenantId]]);
  t.false(JSON.stringify(user).includes('argon2'));
  advance(31 * 24 * 60 * 60_000);
  t.is((await admin.listUsers(ada, ofUsers({ id: idOfTwo }))).rows[0]?.signIns, 0); // all refresh tokens have expired
});

test('usage shows all months and counts of a tenant, deleted ones too', async (t) => {
  const { app, admin, advance } = await operatorsApp(t);
  const { caller } = await signUp(app);
  const { tenantId } = caller;
  const settle = (...settlements: ReturnType<typeof settlement>[]) =>
    app.settleSpend(agentOf(tenantId), { settlements });
  t.deepEqual(await admin.tenantUsage(ada, { tenantId }), { capUsd: 10, months: [], counts: [] });
  await settle(settlement('a', { costUsdE8: 123_456_789n }), settlement('b', { operation: 'evaluation' }));
  advance(31 * 24 * 60 * 60_000);
  await settle({ ...settlement('c'), estimated: true });
  await app.reserveSpend(agentOf(tenantId), { call: spendCall('d', { costUsdE8: usd(3) }), begins: true });

  const { capUsd, months, counts } = await admin.tenantUsage(ada, { tenantId });
  t.is(capUsd, 10);
  t.like(months, [
    { spentUsd: '0.01000000', reservedUsd: '3.00000000', estimatedUsd: '0.01000000' },
    { spentUsd: '1.24456789', reservedUsd: '0.00000000', estimatedUsd: '0.00000000' },
  ]);
  t.true(
    months.every(({ month }) => /^20\d\d-\d\d$/.test(month)) && (months[0]?.month ?? '') > (months[1]?.month ?? ''),
  );
  t.like(counts, [
    { model: 'small-1', operation: 'session', count: 2 },
    { model: 'small-1', operation: 'evaluation', count: 1 },
  ]);
  await app.deleteTenant(caller);
  const after = await admin.tenantUsage(ada, { tenantId });
  t.is(after.capUsd, undefined);
  t.is(after.months.length, 2);
});
