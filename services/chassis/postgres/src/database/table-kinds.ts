import type { Knex } from 'knex';
import { rolesOf } from './identifiers.ts';
import { migrationsTables } from './internal-tables.ts';
import type { TableKind } from './types.ts';

export interface TableFacts {
  name: string;
  enabled: boolean;
  forced: boolean;
  /** Whether the table has a column `tenant_id integer not null`. */
  tenantId: boolean;
  /** The conditions of all policies of the table, as PostgreSQL formats them. */
  policies: { name: string; using: string | null; check: string | null; command: string }[];
}

/** The name of the policy for reading and writing a tenant's row. */
const policyName = 'own_tenant';
/** The policy's condition. Outside of `transact` it raises an error and does not silently exclude every row. */
const ownTenant = `tenant_id = current_setting('parley.tenant')::int`;

/**
 * Grants each role the privileges on its kinds of table and no others, and forces row-level security on tenant tables.
 * Row-level security is changed only where it differs, because the change locks the table against readers.
 */
export async function applyTableKinds(
  transaction: Knex.Transaction,
  schemaName: string,
  kinds: Record<string, TableKind>,
): Promise<void> {
  const states = await tablesIn(transaction, schemaName);
  const undeclared = states.map(({ name }) => name).filter((name) => !Object.hasOwn(kinds, name));
  if (undeclared.length > 0)
    throw new Error(`no kind is declared for ${named(schemaName, undeclared)}: name it in \`tables\` of the schema`);
  const missing = Object.keys(kinds).filter((name) => !states.some((state) => state.name === name));
  if (missing.length > 0) throw new Error(`declared, but not created by any migration: ${named(schemaName, missing)}`);

  for (const state of states) {
    if (kinds[state.name] === 'tenant') await isolate(transaction, schemaName, state);
    await grantTable(transaction, schemaName, state.name, kinds[state.name]);
  }
  await grantSequences(transaction, schemaName, kinds);
}

/**
 * Returns the tables of a schema, except knex's own, with their row-level security. Partitions are omitted: no role has rights on them, and
 * access through the partitioned table uses its policies.
 */
export async function tablesIn(transaction: Knex.Transaction, schemaName: string): Promise<TableFacts[]> {
  const { rows } = await transaction.raw(
    `SELECT c.relname AS name, c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced,
            EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND a.attnotnull
                      AND a.atttypid = 'int4'::regtype) AS "tenantId",
            (SELECT coalesce(json_agg(json_build_object('name', polname, 'command', polcmd,
                      'using', pg_get_expr(polqual, polrelid), 'check', pg_get_expr(polwithcheck, polrelid))), '[]')
               FROM pg_policy WHERE polrelid = c.oid) AS policies
       FROM pg_class c
      WHERE c.relnamespace = ?::regnamespace AND c.relkind IN ('r', 'p', 'm', 'v', 'f') AND NOT c.relispartition
      ORDER BY c.relname`,
    [schemaName],
  );
  return rows.filter(({ name }: TableFacts) => !migrationsTables.includes(name));
}

async function isolate(transaction: Knex.Transaction, schemaName: string, state: TableFacts): Promise<void> {
  const table = `${schemaName}."${state.name}"`;
  if (!state.tenantId)
    throw new Error(`${schemaName}.${state.name} is a tenant table without "tenant_id integer not null"`);
  if (!state.enabled) await transaction.raw(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
  if (!state.forced) await transaction.raw(`ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`);
  if (!state.policies.some(({ name }) => name === policyName)) {
    await transaction.raw(`CREATE POLICY ${policyName} ON ${table} USING (${ownTenant}) WITH CHECK (${ownTenant})`);
  }
}

async function grantTable(
  transaction: Knex.Transaction,
  schemaName: string,
  name: string,
  kind: TableKind | undefined,
): Promise<void> {
  const { tenant, shared } = rolesOf(schemaName);
  const table = `${schemaName}."${name}"`;
  await transaction.raw(`
    REVOKE ALL ON ${table} FROM PUBLIC, ${tenant}, ${shared};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${granteesOf(schemaName, kind)}`);
}

/** Grants the use of sequences. `serial` columns and separate sequences need this grant; identity columns do not. */
async function grantSequences(
  transaction: Knex.Transaction,
  schemaName: string,
  kinds: Record<string, TableKind>,
): Promise<void> {
  const { rows }: { rows: { name: string; owner: string | null }[] } = await transaction.raw(
    `SELECT s.relname AS name, t.relname AS owner FROM pg_class s
       LEFT JOIN pg_depend d ON d.objid = s.oid AND d.deptype IN ('a', 'i') AND d.classid = 'pg_class'::regclass
                            AND d.refclassid = 'pg_class'::regclass
       LEFT JOIN pg_class t ON t.oid = d.refobjid
      WHERE s.relkind = 'S' AND s.relnamespace = ?::regnamespace`,
    [schemaName],
  );
  for (const { name, owner } of rows) {
    if (owner !== null && migrationsTables.includes(owner)) continue;
    const kind = owner === null ? 'tenant' : kinds[owner];
    await transaction.raw(`GRANT USAGE ON SEQUENCE ${schemaName}."${name}" TO ${granteesOf(schemaName, kind)}`);
  }
}

/** Returns the roles that have access to a table of this kind. */
export function rolesReaching(schemaName: string, kind: TableKind | undefined): string[] {
  const { tenant, shared } = rolesOf(schemaName);
  if (kind === 'internal') return [tenant, shared];
  return [kind === 'tenant' ? tenant : shared];
}

/** Returns the roles that have access to a table of this kind, as a list in SQL. */
function granteesOf(schemaName: string, kind: TableKind | undefined): string {
  return rolesReaching(schemaName, kind).join(', ');
}

function named(schemaName: string, tables: string[]): string {
  return tables.map((table) => `${schemaName}.${table}`).join(', ');
}
