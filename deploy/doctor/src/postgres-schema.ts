import { isDatabaseError } from '@parley/kernel/database-errors';
import type { Environment } from '@parley/kernel/settings/config';
import { catalogueViolationsBy } from '@parley/postgres/database/catalogue';
import { rolesOf } from '@parley/postgres/database/identifiers';
import { foreignRoles, roleStates } from '@parley/postgres/database/migration-rights';
import { pendingMigrations } from '@parley/postgres/database/pending-migrations';
import { type Outcome, ok, wrong } from './outcome.ts';
import type { Connection } from './postgres-connection.ts';
import { grantRefusal } from './postgres-grants.ts';
import type { UsedSchema } from './postgres-logins.ts';
import { sealedOutcomes } from './postgres-sealed.ts';
import { strangerOutcomes } from './postgres-strangers.ts';

const byTheChart = 'which the Helm chart does by itself before it starts a pod';

/** Checks one schema: its migrations, the isolation of tenants, the rights of both logins, and the keys of its encrypted data. */
export async function schemaOutcomes(
  used: UsedSchema,
  service: Connection,
  migrations: Connection | undefined,
  env: Environment,
): Promise<Outcome[]> {
  const problem = await schemaProblem(used, service, migrations);
  if (problem) return [problem];
  const found = `${service.at} has the schemas up to date, and their tenants are isolated`;
  return [
    { ...ok('postgres.schema', service.settings, found), items: [used.schema.name] },
    ...(await strangerOutcomes(service, used.schema.name, loginsIn([service, migrations]))),
    ...(await sealedOutcomes(used, service, env)),
  ];
}

function loginsIn(connections: readonly (Connection | undefined)[]): string[] {
  return connections.flatMap((connection) => (connection ? [connection.facts.login] : []));
}

async function schemaProblem(
  { schema }: UsedSchema,
  service: Connection,
  migrations: Connection | undefined,
): Promise<Outcome | undefined> {
  const { at, settings } = service;
  const { name } = schema;
  const owner = migrations ?? service;
  const found = await findSchema(owner, name);
  const refusal = migrations || !found ? ownerRefusal(owner, name, found) : undefined;
  if (refusal) return refusal;
  if (!found) {
    const { foreign } = await roleStates(owner.pool, name, [owner.facts.login, service.facts.login]);
    if (foreign.length > 0) {
      const { found: clash, change } = foreignRoles(owner.facts.login, ['roles of schemas that are missing']);
      return { ...wrong('postgres.migrations-rights', owner.settings, clash, change), items: foreign };
    }
    return {
      ...wrong('postgres.schema', settings, `${at} lacks schemas`, `Run scripts/migrate, ${byTheChart}.`),
      items: [name],
    };
  }
  const pending = found.isMine ? await pendingMigrations(owner.pool, schema) : [];
  if (pending.length > 0) {
    const lacks = wrong(
      'postgres.migrations',
      settings,
      `${at} lacks migrations`,
      `Run scripts/migrate, ${byTheChart}.`,
    );
    return { ...lacks, items: pending.map((each) => `${name}/${each}`) };
  }
  const violations = await catalogueViolationsBy(service.pool, schema);
  if (violations.length > 0) {
    const change = 'Undo what was changed by hand, or run scripts/migrate of this release.';
    const differs = wrong('postgres.isolation', settings, `${at} is not as declared`, change);
    return { ...differs, items: violations.map((each) => `${name}: ${each}`) };
  }
  return (await roleRefusal(service, name)) ?? grantRefusal(service, schema);
}

interface FoundSchema {
  /** Whether the login owns the schema or is a member of the owning role. */
  isMine: boolean;
}

async function findSchema({ pool }: Connection, name: string): Promise<FoundSchema | undefined> {
  const sql = `SELECT pg_has_role(nspowner, 'USAGE') AS "isMine" FROM pg_namespace WHERE nspname = ?`;
  const { rows } = await pool.raw(sql, [name]);
  return rows[0];
}

/** Returns the reason why the login cannot migrate; undefined if it can. */
function ownerRefusal(
  { facts, settings }: Connection,
  name: string,
  found: FoundSchema | undefined,
): Outcome | undefined {
  const { login, mayCreateSchemas, mayCreateRoles, database } = facts;
  const refusal = (what: string, change: string) => ({
    ...wrong('postgres.migrations-rights', settings, `${login} ${what}`, change),
    items: [name],
  });
  if (found?.isMine) return undefined;
  if (found) {
    return refusal(
      'does not own schemas that it is to migrate',
      `Name the login that does, or ALTER SCHEMA … OWNER TO ${login}.`,
    );
  }
  const lacks = [
    ...(mayCreateSchemas ? [] : [`GRANT CREATE ON DATABASE ${database} TO ${login}`]),
    ...(mayCreateRoles ? [] : [`ALTER ROLE ${login} CREATEROLE`]),
  ];
  if (lacks.length === 0) return undefined;
  return refusal(
    'may not create schemas that are missing, and their roles',
    `${lacks.join('; ')}. Then run scripts/migrate.`,
  );
}

/** Checks that the login may set each role of the schema, as its transactions do. */
async function roleRefusal({ pool, facts, settings }: Connection, name: string): Promise<Outcome | undefined> {
  const refused: string[] = [];
  for (const role of Object.values(rolesOf(name))) {
    await pool
      .transaction((transaction) => transaction.raw(`SELECT set_config('role', ?, true)`, [role]))
      .catch((error: unknown) => {
        if (!isDatabaseError(error) || error.code !== '42501') throw error;
        refused.push(role);
      });
  }
  if (refused.length === 0) return undefined;
  const change = `GRANT them TO ${facts.login}, or run scripts/migrate, which does so for the login of these settings.`;
  return { ...wrong('postgres.roles', settings, `${facts.login} may not take roles`, change), items: refused };
}
