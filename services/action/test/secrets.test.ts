import { randomBytes } from 'node:crypto';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import type { Transaction } from '@parley/postgres/database/types';
import { reseal } from '@parley/postgres/reseal';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { actionSchema } from '../src/action-schema.ts';
import { sealedColumns as columns } from '../src/sealed-columns.ts';
import { actionUnit, inTenant, operator, secretsKey } from './action-unit.ts';
import { restServer, sendJson } from './custom-actions/rest-server.ts';
import { scriptedServer } from './mcp/scripted-server.ts';

const newKey = randomBytes(32);
const ring = `${newKey.toString('base64')},${secretsKey}`;
const newAlone = createSecretBox([newKey]);

test('every sealed column of the schema is resealed', async (t) => {
  const { database } = await actionUnit(t);
  const { rows } = await database.transactShared(({ knex }) =>
    knex.raw(
      `SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND column_name LIKE '%\\_sealed'`,
    ),
  );
  const inCamelCase = (name: string) => name.replace(/_(\w)/gu, (_, letter: string) => letter.toUpperCase());
  const found = (rows as { tableName: string; columnName: string }[]).map(
    ({ tableName, columnName }) => `${tableName}.${inCamelCase(columnName)}`,
  );
  t.true(found.length > 0);
  const listed = columns.map(({ table, column }) => `${table}.${column}`);
  t.deepEqual(
    found.filter((column) => !listed.includes(column)),
    [],
  );
});

test('after a rotation of the key ring during calls, the new key alone opens everything', async (t) => {
  // This process already has the new key, but still seals with the old one.
  const before = await actionUnit(t, { env: { SECRETS_KEYS: `${secretsKey},${newKey.toString('base64')}` } });
  const rest = await restServer(t, ({ headers }, response) => sendJson(response, 200, { ok: headers.authorization }));
  const tools = await scriptedServer(t);
  const bearer = await before.createAction(1, { url: rest.url, bearerToken: 'canary-token' });
  const other = await before.createAction(2, { url: rest.url, bearerToken: 'canary-other' });
  const connector = await before.createConnector(1, tools.url, 'canary-key');
  await before.admin.putPartnerCredential({ tenantId: 1, partner: 'PARTNER_A', value: 'canary' }, { caller: operator });
  await before.callAction(1, bearer, { turn: 'turn 1' });

  const { database } = before;
  const after = await actionUnit(t, {
    env: { SECRETS_KEYS: ring },
    database: await replicaOf(t, database, actionSchema),
  });
  const calling = { going: true };
  const failed: unknown[] = [];
  const callers = [before, after].map(async (unit) => {
    while (calling.going) {
      const results = await Promise.all([
        unit.callAction(1, bearer),
        unit.callAction(2, other),
        unit.callTool(1, connector, 'echo'),
      ]);
      failed.push(...results.filter((result) => result?.errorKind !== ''));
    }
  });
  const box = createSecretBox([newKey, Buffer.from(secretsKey, 'base64')]);
  await reseal({ database, box, columns });
  calling.going = false;
  await Promise.all(callers);
  t.deepEqual(failed, []);

  // Reseals again, because the process with the old key ring sealed more calls during the first `reseal`.
  await reseal({ database, box, columns });
  for (const { table, column, listTenants } of columns) {
    const read = ({ knex }: Transaction): Promise<Buffer[]> => knex(table).whereNotNull(column).pluck(column);
    const values = listTenants
      ? (await Promise.all([1, 2].map((id) => database.transact(id, read)))).flat()
      : await database.transactShared(read);
    t.true(values.length > 0, `${table}.${column}`);
    t.true(
      values.every((sealed) => newAlone.hasKeyOf(sealed)),
      `${table}.${column}`,
    );
  }
  const last = await actionUnit(t, {
    env: { SECRETS_KEYS: newKey.toString('base64') },
    database: await replicaOf(t, database, actionSchema),
  });
  t.like(await last.callAction(1, bearer), { errorKind: '' });
  t.like(await last.callTool(1, connector, 'echo'), { errorKind: '' });
  t.is((await last.rpc.listTurnCalls({ turn: 'turn 1' }, { caller: inTenant(1) })).calls.length, 1);
  // Without the key that sealed the credentials, no request is sent, and the call fails with a specific error kind.
  const seen = rest.seen.length;
  const late = await actionUnit(t, { database: await replicaOf(t, database, actionSchema) });
  t.like(await late.callAction(1, bearer), { errorKind: 'CREDENTIAL_UNAVAILABLE' });
  t.like(await late.callTool(1, connector, 'echo'), { errorKind: 'CREDENTIAL_UNAVAILABLE' });
  t.is(rest.seen.length, seen);
});
