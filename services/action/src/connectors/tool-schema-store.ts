import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';

export interface SeenSchema {
  name: string;
  hash: string;
  changedAt: Date | null;
}

/** Maximum number of remembered tools per connector. Above the maximum, tools that the server no longer lists are deleted. */
const maxKept = 2_000;

/** The schemas of a connector's tools as last seen. */
export function toolSchemaStore({ knex, tenantId }: TenantDb) {
  const rows = rowsBy(knex);
  return {
    async listOf(connectorId: number): Promise<SeenSchema[]> {
      return rows<SeenSchema>(
        'SELECT name, hash, changed_at FROM tool_schemas WHERE tenant_id = :tenantId AND connector_id = :connectorId',
        { tenantId, connectorId },
      );
    },

    /** Stores the current schemas. A schema that differs from the tool's first one is marked as changed, once. */
    async see(connectorId: number, seen: readonly Pick<SeenSchema, 'name' | 'hash'>[]): Promise<SeenSchema[]> {
      const names = seen.map(({ name }) => name);
      const hashes = seen.map(({ hash }) => hash);
      const stored = await rows<SeenSchema>(
        `INSERT INTO tool_schemas AS known (tenant_id, connector_id, name, first_hash, hash)
         SELECT :tenantId, :connectorId, name, hash, hash
           FROM unnest(cast(:names AS text[]), cast(:hashes AS text[])) AS seen (name, hash) ORDER BY name
         ON CONFLICT (tenant_id, connector_id, name) DO UPDATE
           SET hash = excluded.hash, seen_at = parley_now(),
             changed_at = coalesce(known.changed_at, CASE WHEN excluded.hash <> known.first_hash THEN parley_now() END)
         RETURNING name, hash, changed_at`,
        { tenantId, connectorId, names, hashes },
      );
      await rows(
        `DELETE FROM tool_schemas WHERE tenant_id = :tenantId AND connector_id = :connectorId AND name <> ALL (cast(:names AS text[]))
           AND (SELECT count(*) FROM tool_schemas WHERE tenant_id = :tenantId AND connector_id = :connectorId) > ${maxKept}`,
        { tenantId, connectorId, names },
      );
      return stored;
    },
  };
}
