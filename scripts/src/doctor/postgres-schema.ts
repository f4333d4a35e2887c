import { type Environment } from '@parley/kernel/config';
import { isDatabaseError } from '@parley/kernel/database-errors';
import { createSecretBox } from '@parley/kernel/secret-box';
import { listSettings } from '@parley/kernel/settings';
import { secretsKeysSetting } from '@parley/kernel/shared-settings';
import { catalogueViolations } from '@parley/postgres/database/catalogue';
import { rolesOf } from '@parley/postgres/database/identifiers';
import { pendingMigrations } from '@parley/postgres/database/pending-migrations';
import { usable } from './installation.ts';
import { type Outcome, ok, wrong } from './outcome.ts';
import type { Connection } from './postgres-connection.ts';
import type { UsedSchema } from './postgres-logins.ts';

const migrate = 'Run `scripts/migrate`, which the Helm chart does by itself when it is installed.';

/** Checks one schema: its migrations, what isolates its tenants, the rights of both logins, and the keys of what it stores. */
export async function schemaOutcomes(
  used: UsedSchema,
  service: Connection,
  migrations: Connection | undefined,
  env: Environment,
): Promise<Outcome[]> {
  const { schema } = used;
  const settings = service.settings;
  const owner = migrations ?? service;
  const { rows } = await owner.pool.raw(
    `SELECT pg_has_role(nspowner, 'USAGE') AS "isMine" FROM pg_namespace WHERE nspname = ?`,
    [schema.name],
  );
  const found: { isMine: boolean } | undefined = rows[0];
  if (migrations || !found) {
    const refusal = ownerRefusal(owner, schema.name, found);
    if (refusal) return [refusal];
  }
  if (!found) return [wrong('postgres.schema', settings, `${service.at} has no schema ${schema.name}`, migrate)];
  const pending = found.isMine ? await pendingMigrations(owner.pool, schema) : [];
  if (pending.length > 0) {
    const change = `Run \`scripts/migrate\`, which the Helm chart does before it replaces a pod.`;
    return [wrong('postgres.migrations', settings, `${schema.name} lacks migrations: ${pending.join(', ')}`, change)];
  }
  const violations = await catalogueViolations({ url: service.url, schema });
  if (violations.length > 0) {
    const change = `Undo what was changed by hand, or run \`scripts/migrate\` of this release.`;
    return [
      wrong('postgres.isolation', settings, `${schema.name} is not as declared: ${violations.join('; ')}`, change),
    ];
  }
  const refusal = await roleRefusal(service, schema.name);
  if (refusal) return [refusal];
  return [
    ok('postgres.schema', settings, `${schema.name} is up to date, and its tenants are isolated`),
    ...(await sealedOutcomes(used, service, env)),
  ];
}

/** Why the login cannot migrate; undefined where it can. */
function ownerRefusal(owner: Connection, schema: string, found: { isMine: boolean } | undefined): Outcome | undefined {
  const { login, mayCreateSchemas, mayCreateRoles, database } = owner.facts;
  const check = 'postgres.migrations-rights';
  if (found) {
    if (found.isMine) return undefined;
    const change = `Name the owner's login in ${owner.settings.join(' and ')}, or ALTER SCHEMA ${schema} OWNER TO ${login}.`;
    return wrong(check, owner.settings, `${login} does not own the schema ${schema}`, change);
  }
  const lacks = [
    ...(mayCreateSchemas ? [] : [`GRANT CREATE ON DATABASE ${database} TO ${login}`]),
    ...(mayCreateRoles ? [] : [`ALTER ROLE ${login} CREATEROLE`]),
  ];
  if (lacks.length === 0) return undefined;
  const change = `${lacks.join('; ')}; then run \`scripts/migrate\`.`;
  return wrong(check, owner.settings, `${login} may not create the schema ${schema} with its roles`, change);
}

/** Takes the roles of the schema's transactions, as each of them does. */
async function roleRefusal({ pool, facts, settings }: Connection, schema: string): Promise<Outcome | undefined> {
  const refused: string[] = [];
  for (const role of Object.values(rolesOf(schema))) {
    await pool
      .transaction((transaction) => transaction.raw(`SELECT set_config('role', ?, true)`, [role]))
      .catch((error: unknown) => {
        if (!isDatabaseError(error) || error.code !== '42501') throw error;
        refused.push(role);
      });
  }
  if (refused.length === 0) return undefined;
  const roles = refused.join(', ');
  const change = `GRANT ${roles} TO ${facts.login}, or run \`scripts/migrate\` with this login in ${settings.join(' and ')}.`;
  return wrong('postgres.roles', settings, `${facts.login} may not take the roles ${roles}`, change);
}

const sampledRows = 1_000;

/** Whether the units can open what they have sealed in tables of no tenant, such as signing keys. */
async function sealedOutcomes(
  { schema, unit }: UsedSchema,
  { pool }: Connection,
  env: Environment,
): Promise<Outcome[]> {
  const isReader = listSettings(unit.settings).some(({ name }) => name === secretsKeysSetting.name);
  const keys = isReader ? usable(env, { keys: secretsKeysSetting })?.keys : undefined;
  if (!keys) return [];
  const box = createSecretBox(keys);
  const settings = [secretsKeysSetting.name];
  const unopened: string[] = [];
  await pool.transaction(async (transaction) => {
    await transaction.raw(`SELECT set_config('role', ?, true)`, [rolesOf(schema.name).shared]);
    const { rows: columns }: { rows: { table: string; column: string }[] } = await transaction.raw(
      `SELECT c.relname AS table, a.attname AS column FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = ?::regnamespace AND c.relname = ANY(?) AND a.attname LIKE '%\\_sealed' AND a.atttypid = 'bytea'::regtype`,
      [schema.name, Object.keys(schema.tables).filter((table) => schema.tables[table] === 'people')],
    );
    for (const { table, column } of columns) {
      const { rows }: { rows: { head: Buffer }[] } = await transaction.raw(
        `SELECT DISTINCT head FROM (SELECT substring(?? FROM 1 FOR 5) AS head FROM ??.?? WHERE ?? IS NOT NULL LIMIT ?) AS sealed`,
        [column, schema.name, table, column, sampledRows],
      );
      if (!rows.every(({ head }) => box.hasKeyOf(head))) unopened.push(`${schema.name}.${table}`);
    }
  });
  const [check, change] = [
    'postgres.sealed',
    `Put the key that sealed them back into ${secretsKeysSetting.name}, behind the one in use.`,
  ];
  if (unopened.length === 0)
    return [ok(check, settings, `${secretsKeysSetting.name} opens what ${schema.name} has sealed`)];
  return [
    wrong(
      check,
      settings,
      `${secretsKeysSetting.name} lacks a key of what is sealed in ${unopened.join(', ')}`,
      change,
    ),
  ];
}
