import type { Knex } from 'knex';
import { openPool } from '../driver/pool.ts';
import { checkedSchemaName, rolesOf } from './identifiers.ts';
import { tablesOf } from './internal-tables.ts';
import { type TableFacts, tablesIn } from './table-kinds.ts';
import type { SchemaDeclaration } from './types.ts';

export interface CatalogueOptions {
  /** A URL with any login, because every login may read the catalogue. */
  url: string;
  schema: SchemaDeclaration;
  /** The actual name of the schema. Default: the declared name. */
  schemaName?: string;
}

/**
 * Compares the database's catalogue with a schema's declaration and describes every difference; an empty list means that
 * tenants are isolated as declared. For tests and operators.
 */
export async function catalogueViolations({ url, schema, schemaName }: CatalogueOptions): Promise<string[]> {
  const pool = openPool({ url, poolSize: 1, statementTimeoutMs: 20_000 });
  try {
    return await catalogueViolationsBy(pool, schema, schemaName);
  } finally {
    await pool.destroy();
  }
}

/** Compares a catalogue with a declaration, as `catalogueViolations` does, on a connection of an existing pool. */
export async function catalogueViolationsBy(
  pool: Knex,
  schema: SchemaDeclaration,
  givenName: string = schema.name,
): Promise<string[]> {
  const schemaName = checkedSchemaName(givenName);
  const kinds = tablesOf(schema);
  return pool.transaction(async (transaction) => {
    const tables = await tablesIn(transaction, schemaName);
    const tenantTables = tables.filter(({ name }) => kinds[name] === 'tenant');
    return [
      ...tables.filter(({ name }) => !Object.hasOwn(kinds, name)).map(({ name }) => `${name} is of no declared kind`),
      ...Object.keys(kinds)
        .filter((declared) => !tables.some(({ name }) => name === declared))
        .map((declared) => `${declared} is declared and does not exist`),
      ...tenantTables.flatMap(tenantTableViolations),
      ...(await foreignKeyViolations(transaction, schemaName, new Set(tenantTables.map(({ name }) => name)))),
      ...(await roleViolations(transaction, schemaName)),
      ...(await grantViolations(transaction, schemaName, kinds)),
      ...(await functionViolations(transaction, schemaName)),
    ];
  });
}

const ownTenant = /^\(tenant_id = \(current_setting\('parley\.tenant'::text\)\)::integer\)$/;

function tenantTableViolations({ name, enabled, forced, tenantId, policies }: TableFacts): string[] {
  return [
    ...(tenantId ? [] : [`${name} is a tenant table without "tenant_id integer not null"`]),
    ...(enabled && forced ? [] : [`${name} is a tenant table whose row-level security is not forced`]),
    ...(policies.length > 0 ? [] : [`${name} is a tenant table without a policy`]),
    ...policies
      .filter(
        ({ using, check, command }) => command !== '*' || !ownTenant.test(using ?? '') || !ownTenant.test(check ?? ''),
      )
      .map((policy) => `policy ${policy.name} of ${name} says other than the tenant's own rows`),
  ];
}

/** Lists foreign keys without tenant_id. Such a key would accept another tenant's row, because its check bypasses row-level security. */
async function foreignKeyViolations(transaction: Knex.Transaction, schemaName: string, tenantTables: Set<string>) {
  const { rows }: { rows: { name: string; from: string; to: string; paired: boolean }[] } = await transaction.raw(
    `SELECT k.conname AS name, f.relname AS from, t.relname AS to,
            EXISTS (SELECT FROM unnest(k.conkey, k.confkey) AS pair (fk, pk)
                      JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = pair.fk AND a.attname = 'tenant_id'
                      JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = pair.pk AND b.attname = 'tenant_id'
            ) AS paired
       FROM pg_constraint k JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
      WHERE k.contype = 'f' AND f.relnamespace = ?::regnamespace ORDER BY k.conname`,
    [schemaName],
  );
  return rows
    .filter(({ from, to, paired }) => tenantTables.has(from) && tenantTables.has(to) && !paired)
    .map(({ name, from, to }) => `foreign key ${name} from ${from} to ${to} lacks tenant_id`);
}

async function roleViolations(transaction: Knex.Transaction, schemaName: string): Promise<string[]> {
  const { rows }: { rows: { name: string; powers: boolean; owns: boolean; inherits: boolean }[] } =
    await transaction.raw(
      `SELECT rolname AS name, rolsuper OR rolbypassrls OR rolcanlogin OR rolcreaterole OR rolcreatedb OR rolreplication AS powers,
            EXISTS (SELECT FROM pg_shdepend d WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = r.oid
                      AND d.deptype = 'o') AS owns,
            EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid) AS inherits
       FROM pg_roles r WHERE rolname = ANY(?) ORDER BY rolname`,
      [Object.values(rolesOf(schemaName))],
    );
  const missing = Object.values(rolesOf(schemaName)).filter((role) => !rows.some(({ name }) => name === role));
  return [
    ...missing.map((name) => `role ${name} does not exist`),
    ...rows
      .filter(({ powers }) => powers)
      .map(({ name }) => `role ${name} may log in, or bypasses row-level security, or more`),
    ...rows.filter(({ owns }) => owns).map(({ name }) => `role ${name} owns something`),
    ...rows.filter(({ inherits }) => inherits).map(({ name }) => `role ${name} is a member of another role`),
  ];
}

/** Lists grants on tables whose kind the grantee must not access. */
async function grantViolations(transaction: Knex.Transaction, schemaName: string, kinds: Record<string, string>) {
  const roles = rolesOf(schemaName);
  const { rows }: { rows: { name: string; grantee: string }[] } = await transaction.raw(
    `SELECT DISTINCT c.relname AS name, CASE a.grantee WHEN 0 THEN 'everybody' ELSE a.grantee::regrole::text END AS grantee
       FROM pg_class c, aclexplode(c.relacl) a
      WHERE c.relnamespace = ?::regnamespace AND c.relkind IN ('r', 'p', 'm', 'v', 'f') AND a.grantee <> c.relowner
      ORDER BY 1, 2`,
    [schemaName],
  );
  const allowed = (name: string, grantee: string) => {
    const kind = kinds[name];
    if (grantee === roles.tenant) return kind === 'tenant' || kind === 'internal';
    if (grantee === roles.shared) return kind === 'people' || kind === 'internal';
    return false;
  };
  return rows
    .filter(({ name, grantee }) => !allowed(name, grantee))
    .map(({ name, grantee }) => `${grantee} has rights on ${name}`);
}

/** Lists functions that run with their owner's rights, because they bypass row-level security and grants. */
async function functionViolations(transaction: Knex.Transaction, schemaName: string): Promise<string[]> {
  const { rows }: { rows: { name: string }[] } = await transaction.raw(
    `SELECT proname AS name FROM pg_proc WHERE pronamespace = ?::regnamespace AND prosecdef ORDER BY proname`,
    [schemaName],
  );
  return rows.map(({ name }) => `function ${name} runs with its owner's rights`);
}
