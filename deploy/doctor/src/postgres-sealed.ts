import { createSecretBox, type SecretBox } from '@parley/kernel/secrets/secret-box';
import type { Environment } from '@parley/kernel/settings/config';
import { listSettings } from '@parley/kernel/settings/settings';
import { secretsKeysSetting } from '@parley/kernel/settings/shared-settings';
import { rolesOf } from '@parley/postgres/database/identifiers';
import type { Knex } from 'knex';
import { usable } from './installation.ts';
import { type Outcome, ok, wrong } from './outcome.ts';
import type { Connection } from './postgres-connection.ts';
import type { UsedSchema } from './postgres-logins.ts';

const { name: keysName } = secretsKeysSetting;
const settings = [keysName];
const sampledRows = 1_000;

/**
 * Checks that the unit has the keys for the data that it encrypted in tables without a tenant, such as signing keys. Such data is in the
 * `bytea` columns whose names end in `_sealed`.
 */
export async function sealedOutcomes(
  { schema, unit }: UsedSchema,
  { pool }: Connection,
  env: Environment,
): Promise<Outcome[]> {
  const isReader = listSettings(unit.settings).some(({ name }) => name === keysName);
  const keys = isReader ? usable(env, { keys: secretsKeysSetting })?.keys : undefined;
  if (!keys) return [];
  const box = createSecretBox(keys);
  const tables = Object.keys(schema.tables).filter((table) => schema.tables[table] === 'people');
  const unopened = await pool.transaction(async (transaction) => {
    await transaction.raw(`SELECT set_config('role', ?, true)`, [rolesOf(schema.name).shared]);
    const columns = await sealedColumns(transaction, schema.name, tables);
    const found: string[] = [];
    for (const { table, column } of columns) {
      if (!(await hasKeys(transaction, box, [schema.name, table], column))) found.push(`${schema.name}.${table}`);
    }
    return found;
  });
  if (unopened.length === 0) {
    return [{ ...ok('postgres.sealed', settings, `${keysName} opens what is sealed`), items: [schema.name] }];
  }
  const change = `Put the key that sealed it back into ${keysName}, behind the one in use.`;
  return [
    { ...wrong('postgres.sealed', settings, `${keysName} lacks a key of what is sealed`, change), items: unopened },
  ];
}

async function sealedColumns(
  transaction: Knex.Transaction,
  schemaName: string,
  tables: string[],
): Promise<{ table: string; column: string }[]> {
  const { rows } = await transaction.raw(
    `SELECT c.relname AS table, a.attname AS column FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relnamespace = ?::regnamespace AND c.relname = ANY(?)
        AND a.attname LIKE '%\\_sealed' AND a.atttypid = 'bytea'::regtype`,
    [schemaName, tables],
  );
  return rows;
}

async function hasKeys(
  transaction: Knex.Transaction,
  box: SecretBox,
  [schemaName, table]: [string, string],
  column: string,
): Promise<boolean> {
  const { rows }: { rows: { head: Buffer }[] } = await transaction.raw(
    `SELECT DISTINCT head FROM (
       SELECT substring(?? FROM 1 FOR 5) AS head FROM ??.?? WHERE ?? IS NOT NULL LIMIT ?) AS sealed`,
    [column, schemaName, table, column, sampledRows],
  );
  return rows.every(({ head }) => box.hasKeyOf(head));
}
