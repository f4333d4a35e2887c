import type { Caller } from '@parley/kernel/caller';
import { inTenant } from '@parley/kernel/caller';
import test from 'ava';
import { secretSealingContext } from '../src/operators/tenant-secrets.ts';
import { getTenantSecret, hasTenantSecret } from '../src/tenants/get-tenant-secret.ts';
import { signUp } from './support/identity-app.ts';
import { operator, operatorsApp, operatorsUnit } from './support/operators.ts';

const ada = operator('ada');

test("a tenant's secrets are stored encrypted for it and their name, and only their names are listed", async (t) => {
  const { app, admin, audit, database, ports } = await operatorsApp(t);
  const { caller } = await signUp(app);
  const { tenantId } = caller;
  const other = await signUp(app);
  const value = 'canary-5f2c 秘密\n-----END-----';
  const put = (name: string, text = value) => admin.putTenantSecret(ada, { tenantId, name, value: text });
  await put('WEBHOOK_KEY', 'first');
  await put('WEBHOOK_KEY');
  await put('b.c-d_9');

  const listed = await admin.listTenantSecrets(ada, { tenantId });
  t.deepEqual(
    listed.map(({ name }) => name),
    ['WEBHOOK_KEY', 'b.c-d_9'],
  );
  t.deepEqual(Object.keys(listed[0] ?? {}).sort(), ['createdAt', 'name', 'updatedAt']);
  t.deepEqual(await admin.listTenantSecrets(ada, { tenantId: other.caller.tenantId }), []);
  const [row] = await database.transact(tenantId, ({ knex }) => knex('tenant_secrets').where({ name: 'WEBHOOK_KEY' }));
  t.false(row.valueSealed.includes('canary'));
  t.is(ports.box.open(row.valueSealed, secretSealingContext(tenantId, 'WEBHOOK_KEY')).toString(), value);
  t.throws(() => ports.box.open(row.valueSealed, secretSealingContext(tenantId + 1, 'WEBHOOK_KEY')));
  t.deepEqual(
    (await audit()).map(({ action, facts }) => [action, facts]),
    [
      ['set-secret', { name: 'b.c-d_9', replaced: false }],
      ['set-secret', { name: 'WEBHOOK_KEY', replaced: true }],
      ['set-secret', { name: 'WEBHOOK_KEY', replaced: false }],
    ],
  );

  await admin.removeTenantSecret(ada, { tenantId, name: 'b.c-d_9' });
  for (const name of ['b.c-d_9', 'nothing', '', '\0', "' OR 1=1"]) {
    t.like(await t.throwsAsync(admin.removeTenantSecret(ada, { tenantId, name })), { kind: 'notFound' });
  }
  for (const name of ['', ' ', '1a', 'a b', 'a/b', 'é', 'a\0', 'x'.repeat(101), '../x']) {
    t.like(await t.throwsAsync(put(name)), { kind: 'invalid' }, name);
  }
  for (const text of ['', ' \n', 'a\0b', '\udc00', 'x'.repeat(65_537)]) {
    const error = await t.throwsAsync(put('a', text));
    t.like(error, { kind: 'invalid' });
    t.true(text.length < 3 || !error?.message.includes(text));
  }
  await t.notThrowsAsync(put('a', 'x'.repeat(65_536)));

  await app.deleteTenant(caller);
  t.deepEqual(await database.transact(tenantId, ({ knex }) => knex('tenant_secrets')), []);
  t.like(await t.throwsAsync(put('after')), { kind: 'notFound' });
});

const byUnit = (service: string, tenantId: number) =>
  inTenant({ kind: 'service', service, tenantId, requestId: 'test' });
const { signal } = new AbortController();

test('a tenant has the secrets that were provisioned for it, and session alone reads their values as they are now', async (t) => {
  const { app, admin, ports } = await operatorsApp(t);
  const { caller: user } = await signUp(app);
  const { tenantId } = user;
  const { caller: stranger } = await signUp(app);
  const put = (value: string) => admin.putTenantSecret(ada, { tenantId, name: 'HOOK', value });
  const has = (name: string, caller = user) => hasTenantSecret(ports, { caller, signal }, name);
  const read = (name: string, caller: typeof user | ReturnType<typeof byUnit> = byUnit('session', tenantId)) =>
    getTenantSecret(ports, { caller, signal }, name);
  await put('first');

  t.true(await has('HOOK'));
  t.false(await has('HOOK', stranger));
  for (const name of ['OTHER', 'hook', '', '\0', "' OR 1=1", 'x'.repeat(1_000)]) {
    t.false(await has(name), name);
    t.like(await t.throwsAsync(read(name)), { kind: 'notFound' }, name);
  }
  t.is(await read('HOOK'), 'first');
  await put('秘密');
  t.is(await read('HOOK'), '秘密');
  t.like(await t.throwsAsync(read('HOOK', byUnit('session', stranger.tenantId))), { kind: 'notFound' });
  for (const caller of [user, byUnit('agent', tenantId)]) {
    t.like(await t.throwsAsync(read('HOOK', caller)), { kind: 'forbidden' });
  }

  await admin.removeTenantSecret(ada, { tenantId, name: 'HOOK' });
  t.false(await has('HOOK'));
  t.like(await t.throwsAsync(read('HOOK')), { kind: 'notFound' });
});

test('over gRPC a secret is read with a credential of the mesh, by session', async (t) => {
  const { rpc } = await operatorsUnit(t);
  const ask = (caller: Caller) =>
    rpc.getTenantSecret({ name: 'HOOK' }, { caller, expectedErrors: ['forbidden', 'notFound'] });
  t.like(await t.throwsAsync(ask(byUnit('session', 1))), { kind: 'notFound' });
  t.like(await t.throwsAsync(ask(byUnit('action', 1))), { kind: 'forbidden' });
  t.deepEqual(await rpc.hasTenantSecret({ name: 'HOOK' }, { caller: byUnit('agent', 1) }), { exists: false });
});
