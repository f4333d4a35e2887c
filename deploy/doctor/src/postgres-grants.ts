import { type MissingGrant, missingGrants } from '@parley/postgres/database/missing-grants';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { type Outcome, wrong } from './outcome.ts';
import type { Connection } from './postgres-connection.ts';

/** The maximum number of tables that a message names. Further tables are only counted. */
const maxNamed = 5;

/** Checks that the roles of a schema have their rights in it. The rights are missing after a dump was restored without its ACLs. */
export async function grantRefusal(
  { pool, settings, at }: Connection,
  schema: SchemaDeclaration,
): Promise<Outcome | undefined> {
  const missing = await missingGrants(pool, schema);
  if (missing.length === 0) return undefined;
  const change = 'Run scripts/migrate, which grants them, also where no migration is pending.';
  const lacking = wrong('postgres.grants', settings, `in ${at} roles of the units lack rights`, change);
  const alike = [...Map.groupBy(missing, ({ role, rights }) => `${role} ${rights}`).values()];
  return { ...lacking, items: alike.flatMap((same) => (same[0] ? [itemOf(same[0], same)] : [])) };
}

function itemOf({ role, rights }: MissingGrant, same: MissingGrant[]): string {
  const names = same.map(({ on }) => on).join(', ');
  return `${role} ${rights} on ${same.length > maxNamed ? `${same.length} tables` : names}`;
}
