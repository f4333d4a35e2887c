import type { Knex } from 'knex';
import { rolesOf } from './identifiers.ts';
import { tablesOf } from './internal-tables.ts';
import { rolesReaching } from './table-kinds.ts';
import type { SchemaDeclaration } from './types.ts';

/** Rights that a role of a schema's transactions lacks, although `migrateSchema` grants them. */
export interface MissingGrant {
  role: string;
  /** The missing rights, e.g. `SELECT, INSERT`. */
  rights: string;
  /** The schema or table that the rights are for, e.g. `schema session`, `session.messages`. */
  on: string;
}

/**
 * Returns the grants that a schema's roles lack, e.g. after a dump was restored without its ACLs. If USAGE on the schema is missing, only
 * USAGE is reported, because no other right has an effect without it. Any login may call this.
 */
export async function missingGrants(
  pool: Knex,
  schema: SchemaDeclaration,
  schemaName: string = schema.name,
): Promise<MissingGrant[]> {
  const reached = Object.entries(tablesOf(schema)).flatMap(([table, kind]) =>
    rolesReaching(schemaName, kind).map((role) => ({ role, table })),
  );
  const { rows }: { rows: MissingGrant[] } = await pool.raw(
    `WITH given AS (SELECT CAST(? AS text) AS schema),
          reached AS (SELECT * FROM json_to_recordset(?) AS reached (role text, "table" text)),
          unused AS (SELECT role, schema FROM unnest(CAST(? AS text[])) AS role, given
                      WHERE NOT has_schema_privilege(role, schema, 'USAGE'))
     SELECT role, 'USAGE' AS rights, 'schema ' || schema AS "on" FROM unused
     UNION ALL
     SELECT role, string_agg(wanted, ', ' ORDER BY n), schema || '.' || relname
       FROM given, reached JOIN pg_class ON relname = reached."table",
            unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) WITH ORDINALITY AS rights (wanted, n)
      WHERE relnamespace = CAST(schema AS regnamespace) AND NOT has_table_privilege(role, pg_class.oid, wanted)
        AND role NOT IN (SELECT role FROM unused)
      GROUP BY role, schema, relname
      ORDER BY 1, 3`,
    [schemaName, JSON.stringify(reached), Object.values(rolesOf(schemaName))],
  );
  return rows;
}
