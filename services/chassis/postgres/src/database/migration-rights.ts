import { isDatabaseError } from '@parley/kernel/database-errors';
import type { Knex } from 'knex';
import { rolesOf } from './identifiers.ts';
import type { SchemaDeclaration } from './types.ts';

/** A missing right without which a login cannot migrate a schema. */
export interface MissingRight {
  /** A clause: `<login> may not …`. */
  found: string;
  /** The remedy, as a sentence. */
  change: string;
}

interface RightFacts {
  login: string;
  database: string;
  mayCreateSchemas: boolean;
  mayCreateRoles: boolean;
  /** Whether the login owns the schema; null if there is no such schema. */
  isOwner: boolean | null;
}

const factsSql = `
  SELECT current_user AS login, current_database() AS database,
         has_database_privilege(current_database(), 'CREATE') AS "mayCreateSchemas",
         (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) AS "mayCreateRoles",
         (SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = ?) AS "isOwner"`;

/**
 * Checks the rights that `migrateSchema` needs, without changing anything. The pool must use the login that will call `migrateSchema`.
 * @param appUser the login of the service, which will be granted the schema's roles. Default: the login of the pool
 */
export async function missingRights(
  pool: Knex,
  schema: SchemaDeclaration,
  schemaName: string = schema.name,
  appUser?: string,
): Promise<MissingRight[]> {
  const facts: RightFacts = (await pool.raw(factsSql, [schemaName])).rows[0];
  const { login, database, isOwner, mayCreateSchemas } = facts;
  const missing: MissingRight[] = [];
  if (isOwner === false) {
    const change = `Name the login that does, or ALTER SCHEMA ${schemaName} OWNER TO ${login}.`;
    missing.push({ found: `${login} does not own the schema ${schemaName}`, change });
  }
  if (isOwner === null && !mayCreateSchemas) {
    const change = `GRANT CREATE ON DATABASE ${database} TO ${login}.`;
    missing.push({ found: `${login} may not create schemas in the database ${database}`, change });
  }
  const { absent, foreign } = await roleStates(pool, schemaName, [login, appUser ?? login]);
  if (absent.length > 0 && !facts.mayCreateRoles) {
    missing.push({ found: `${login} may not create roles`, change: `ALTER ROLE ${login} CREATEROLE.` });
  }
  if (foreign.length > 0) missing.push(foreignRoles(login, foreign));
  for (const name of Object.keys(schema.extensions ?? {})) missing.push(...(await missingExtension(pool, name, facts)));
  return missing;
}

/**
 * Describes the problem that another installation on the same server has created the roles; roles belong to the server, not to a database.
 */
export function foreignRoles(login: string, roles: readonly string[]): MissingRight {
  const names = roles.join(', ');
  return {
    found: `${login} may not grant ${names}, which another installation on this server has made: roles belong to the server`,
    change: `Give each installation a server of its own, or the same login for migrations, or as a superuser GRANT ${names} TO the logins of both, and REVOKE CONNECT ON DATABASE of each FROM PUBLIC.`,
  };
}

export function misplacedExtension(name: string, schemaName: string, database: string): MissingRight {
  return {
    found: `the extension ${name} of ${database} is in the schema ${schemaName}, where units do not look for it`,
    change: `As a superuser: ALTER EXTENSION ${name} SET SCHEMA public.`,
  };
}

/**
 * Returns two lists of a schema's roles. `absent`: roles that do not exist. `foreign`: existing roles that some of `users` still need, but
 * that the login may not grant.
 */
export async function roleStates(pool: Knex, schemaName: string, users: string[]) {
  const { rows }: { rows: { role: string; exists: boolean; grantable: boolean; missing: string[] | null }[] } =
    await pool.raw(
      `WITH server AS (SELECT current_setting('server_version_num')::int >= 160000 AS separate)
       SELECT wanted AS role, role.oid IS NOT NULL AS exists,
              me.rolsuper OR CASE WHEN separate THEN pg_has_role(role.oid, 'MEMBER WITH ADMIN OPTION') ELSE me.rolcreaterole END AS grantable,
              (SELECT array_agg(login.rolname) FROM pg_roles login WHERE login.rolname = ANY (CAST(? AS text[]))
                 AND NOT pg_has_role(login.oid, role.oid, CASE WHEN separate THEN 'SET' ELSE 'MEMBER' END)) AS missing
         FROM server, unnest(CAST(? AS text[])) AS wanted LEFT JOIN pg_roles role ON role.rolname = wanted,
              (SELECT rolsuper, rolcreaterole FROM pg_roles WHERE rolname = current_user) AS me`,
      [users, Object.values(rolesOf(schemaName))],
    );
  return {
    absent: rows.filter(({ exists }) => !exists).map(({ role }) => role),
    foreign: rows.filter(({ exists, grantable, missing }) => exists && !grantable && missing).map(({ role }) => role),
  };
}

/**
 * Tries to create a missing extension and rolls back. Only an attempt shows whether the login has the right, because some managed servers
 * give this right to users that are not superusers.
 */
async function missingExtension(pool: Knex, name: string, { database }: RightFacts): Promise<MissingRight[]> {
  const { rows } = await pool.raw(
    'SELECT nspname AS schema FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = ?',
    [name],
  );
  const [installed]: { schema: string }[] = rows;
  if (installed) return installed.schema === 'public' ? [] : [misplacedExtension(name, installed.schema, database)];
  const transaction = await pool.transaction();
  try {
    await transaction.raw(`SELECT pg_advisory_xact_lock(hashtext('parley extension ' || ?))`, [name]);
    await transaction.raw('CREATE EXTENSION IF NOT EXISTS ?? SCHEMA public', [name]);
    return [];
  } catch (error) {
    if (!isDatabaseError(error) || error.code !== '42501') throw error;
    const found = `${database} does not have the extension ${name}, and the login may not create it`;
    return [{ found, change: `As a superuser: CREATE EXTENSION ${name} SCHEMA public.` }];
  } finally {
    await transaction.rollback();
  }
}
