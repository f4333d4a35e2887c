import test from 'ava';
import { secretSealingContext } from '../src/operators/tenant-secrets.ts';
import { signUp } from './support/identity-app.ts';
import { operator, operatorsApp } from './support/operators.ts';

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
