import { randomBytes, randomUUID } from 'node:crypto';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import type { Database, Transaction } from '@parley/postgres/database/types';
import { reseal, resealing } from '@parley/postgres/reseal';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { startService } from '@parley/testing/service-harness';
import test, { type ExecutionContext } from 'ava';
import { sealedColumns as columns } from '../src/sealed-columns.ts';
import { identity } from '../src/service.ts';
import { secretPlace } from '../src/two-factor/two-factor.ts';
import { secretsKey, signUp } from './support/identity-app.ts';
import { isWaitedFor } from './support/is-waited-for.ts';
import { operator, operatorsApp } from './support/operators.ts';
import { signUpWithTwoFactor } from './support/two-factor.ts';

const newKey = randomBytes(32);
const newAlone = createSecretBox([newKey]);
const rotated = createSecretBox([newKey, secretsKey]);

/** Creates a schema that has a value encrypted with the old key in every sealed column. */
async function sealedApp(t: ExecutionContext) {
  const given = await operatorsApp(t);
  const { app, admin } = given;
  const { caller } = await signUpWithTwoFactor(given);
  const { caller: other } = await signUp(app, { idNo: 'S1234567D', idType: 'NRIC', fcmToken: 'device' });
  await app.generateTwoFactor(other);
  const tenants = [caller.tenantId, other.tenantId];
  for (const tenantId of tenants) await admin.putTenantSecret(operator('ada'), { tenantId, name: 'CRM', value: 'x' });
  const asked = { key: 'k', requestSha256: randomBytes(32), claimId: randomUUID(), inAnyTenant: false };
  const { useId } = await app.claimIdempotencyKey(other, asked);
  const result = Buffer.from('done');
  await app.endIdempotencyKey({ useId, claimId: asked.claimId, result, resultInPlace: result });
  return { ...given, userId: caller.userId, tenants };
}

/** Returns for each column how many values the new key decrypts, and how many values there are. */
async function counted(database: Database, tenants: number[]): Promise<Record<string, [number, number]>> {
  const found: Record<string, [number, number]> = {};
  for (const { table, column, listTenants } of columns) {
    const read = ({ knex }: Transaction): Promise<Buffer[]> => knex(table).whereNotNull(column).pluck(column);
    const values = listTenants
      ? (await Promise.all(tenants.map((id) => database.transact(id, read)))).flat()
      : await database.transactShared(read);
    found[`${table}.${column}`] = [values.filter((sealed) => newAlone.hasKeyOf(sealed)).length, values.length];
  }
  return found;
}

const stored = (database: Database, userId: number): Promise<Buffer> =>
  database.transactShared(async ({ knex }) => {
    const { twoFactorSecretSealed } = await knex('users').where({ id: userId }).first('twoFactorSecretSealed');
    return twoFactorSecretSealed;
  });

test('every sealed column of the schema is among those that are sealed anew', async (t) => {
  const { database } = await operatorsApp(t);
  const { rows } = await database.transactShared(({ knex }) =>
    knex.raw(
      `SELECT c.relname || '.' || a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
          AND a.attname LIKE '%\\_sealed' AND a.atttypid = 'bytea'::regtype`,
    ),
  );
  const snake = (name: string) => name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
  t.deepEqual(
    rows.map(({ name }: { name: string }) => name).sort(),
    columns.map(({ table, column }) => `${table}.${snake(column)}`).sort(),
  );
});

test('after a rotation a running unit seals everything anew, so that the old key can go', async (t) => {
  const { database, tenants } = await sealedApp(t);
  for (const [name, [current, all]] of Object.entries(await counted(database, tenants))) {
    t.true(all > 0 && current === 0, name);
  }
  const both = { SECRETS_KEYS: `${newKey.toString('base64')},${secretsKey.toString('base64')}` };
  await startService(t, identity, { env: both, database });
  await eventually('all is under the new key', async () =>
    Object.values(await counted(database, tenants)).every(([current, all]) => current === all),
  );
  const alone = { SECRETS_KEYS: newKey.toString('base64') };
  await t.notThrowsAsync(startService(t, identity, { env: alone, database }));
});

test('sealing anew looks at all rows, in pages, and the metric says how many no key opens', async (t) => {
  const { database, userId } = await sealedApp(t);
  const current = newAlone.seal('x', 'x');
  await database.transactShared(async ({ knex }) => {
    const rows = Array.from({ length: 2_500 }, (_, n) => ({ purpose: `p${n}`, keySealed: current }));
    await knex('derivation_keys').insert(rows);
    const old = rows.filter((_, n) => n % 1_000 === 7).map(({ purpose }) => purpose);
    for (const purpose of old) {
      const keySealed = createSecretBox([secretsKey]).seal('x', `identity.derivation_keys:${purpose}`);
      await knex('derivation_keys').where({ purpose }).update({ keySealed });
    }
    await knex('users')
      .where({ id: userId })
      .update({ twoFactorSecretSealed: createSecretBox([randomBytes(32)]).seal('x', secretPlace(userId)) });
  });
  const metrics = createMetrics('identity');
  const warned: object[] = [];
  const log = { info: () => undefined, warn: (facts: object) => void warned.push(facts) };
  const part = resealing({ database, box: rotated, columns, log, metrics });
  const unopened = async () =>
    /^parley_secrets_under_old_keys\{.*\} (.*)$/mu.exec(await metrics.registry.metrics())?.[1];
  t.is(await unopened(), 'Nan');
  await part.start();
  t.teardown(() => part.stop());
  await eventually('it has looked at all', async () => (await unopened()) !== 'Nan');
  t.is(await unopened(), '1');
  t.deepEqual(warned, [{ unopened: { 'users.twoFactorSecretSealed': 1 } }]);
  const { rows } = await database.transactShared(({ knex }) =>
    knex.raw('SELECT count(*)::int AS n FROM derivation_keys WHERE substring(key_sealed FROM 1 FOR 5) <> ?', [
      rotated.prefix,
    ]),
  );
  t.is(rows[0].n, 0);
});

test('what a process with the old ring seals meanwhile is sealed anew too', async (t) => {
  const { database, ports, userId } = await sealedApp(t);
  const log = { info: () => undefined, warn: () => undefined };
  const part = resealing({ database, box: rotated, columns, log, metrics: createMetrics('identity'), pauseMs: 50 });
  await part.start();
  t.teardown(() => part.stop());
  for (const plain of ['one', 'two']) {
    const twoFactorSecretSealed = ports.box.seal(plain, secretPlace(userId));
    await database.transactShared(({ knex }) => knex('users').where({ id: userId }).update({ twoFactorSecretSealed }));
    await eventually(`${plain} is under the new key`, async () => newAlone.hasKeyOf(await stored(database, userId)));
    t.is(newAlone.open(await stored(database, userId), secretPlace(userId)).toString(), plain);
  }
});

test('a value that another process changes meanwhile is not replaced, and replicas may seal anew at once', async (t) => {
  const { database, ports, userId, tenants } = await sealedApp(t);
  const replaced = ports.box.seal('replaced', secretPlace(userId));
  const isLocked = createGate();
  const changing = database.transactShared(async ({ knex }) => {
    await knex('users').where({ id: userId }).update({ twoFactorSecretSealed: replaced });
    isLocked.open();
    await isWaitedFor(knex);
  });
  await isLocked.pass();
  const what = { database, box: rotated, columns };
  await Promise.all([reseal(what), reseal(what), changing]);
  await reseal(what);
  t.is(newAlone.open(await stored(database, userId), secretPlace(userId)).toString(), 'replaced');
  for (const [name, [current, all]] of Object.entries(await counted(database, tenants))) t.is(current, all, name);
});
