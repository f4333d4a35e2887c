import { rolesOf } from '@parley/postgres/database/identifiers';
import { type Outcome, warning } from './outcome.ts';
import type { Connection } from './postgres-connection.ts';

/**
 * Reports logins that the settings do not contain, but that may connect to the database and assume the roles of its schemas. Such a login,
 * e.g. of another installation on the server, could read the data of all tenants.
 * @param own the logins in the settings
 */
export async function strangerOutcomes(
  { pool, settings, facts }: Connection,
  schemaName: string,
  own: string[],
): Promise<Outcome[]> {
  const { rows } = await pool.raw(
    `SELECT login.rolname AS login FROM pg_roles login, pg_namespace schema
      WHERE schema.nspname = ? AND login.rolcanlogin AND NOT login.rolsuper AND login.rolname <> ALL (CAST(? AS text[]))
        AND NOT pg_has_role(login.oid, schema.nspowner, 'MEMBER')
        AND has_database_privilege(login.oid, current_database(), 'CONNECT')
        AND EXISTS (SELECT FROM pg_roles role WHERE role.rolname = ANY (CAST(? AS text[]))
          AND pg_has_role(login.oid, role.oid,
            CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END))
      ORDER BY 1`,
    [schemaName, own, Object.values(rolesOf(schemaName))],
  );
  const logins = rows.map(({ login }: { login: string }) => login);
  if (logins.length === 0) return [];
  const { database } = facts;
  const found = `${logins.join(', ')} may connect to ${database} and read what all tenants have in schemas`;
  const change = `REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC, then GRANT it to the logins of these settings; or REVOKE the roles of the schemas.`;
  return [{ ...warning('postgres.strangers', settings, found, change), items: [schemaName] }];
}
