import { notFound } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import { columnsOf } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { type Connector, connectors } from './connector.ts';

/** A stored connector with its sealed credential. */
export type SealedConnector = Connector & { apiKeySealed: Buffer };

/** Connectors of the tenant; deleted ones are not found. */
export function connectorStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const live = () => knex<Connector>('mcp_connectors').where({ tenantId }).whereNull('deletedAt');
  const now = knex.raw('parley_now()');
  const row = knex.raw(columnsOf(connectors));
  const deletion = { deletedAt: now, apiKeySealed: null } as never;

  return {
    async find(id: number): Promise<Connector | undefined> {
      return parseId(id) === undefined ? undefined : live().where({ id }).first(row);
    },
    async list(): Promise<Connector[]> {
      return listWithin<Connector>(
        db,
        live()
          .select(knex.raw(columnsWithin(db, connectors)))
          .orderBy('id'),
      );
    },
    async count(): Promise<number> {
      return Number((await live().count({ count: '*' }).first())?.['count'] ?? 0);
    },
    /** Finds the connectors that exist among `ids`, with their credentials, in any order. */
    async listSealed(ids: readonly number[]): Promise<SealedConnector[]> {
      return rowsBy(knex)<SealedConnector>(
        `SELECT ${columnsOf(connectors)}, api_key_sealed FROM mcp_connectors
          WHERE tenant_id = :tenantId AND id = any(cast(:ids AS integer[])) AND deleted_at IS NULL`,
        { tenantId, ids: ids.filter((id) => parseId(id) !== undefined) },
      );
    },
    /** Lists all connectors in the order of their ids, with their credentials. A tenant has a limited number of connectors. */
    async listAllSealed(): Promise<SealedConnector[]> {
      return rowsBy(knex)<SealedConnector>(
        `SELECT ${columnsOf(connectors)}, api_key_sealed FROM mcp_connectors
          WHERE tenant_id = :tenantId AND deleted_at IS NULL ORDER BY id`,
        { tenantId },
      );
    },
    /** @param seal seals the credential for the inserted row */
    async insert(fields: Pick<Connector, 'name' | 'serverUrl'>, seal: (row: Connector) => Buffer): Promise<Connector> {
      const [made] = await knex('mcp_connectors').insert({ ...fields, tenantId }, row as never);
      await knex('mcp_connectors')
        .where({ tenantId, id: made.id })
        .update({ apiKeySealed: seal(made) });
      return made;
    },
    /** @throws DomainError `notFound` if the connector does not exist */
    async update(id: number, fields: Partial<Pick<Connector, 'name' | 'serverUrl'>>): Promise<Connector> {
      const found = parseId(id) !== undefined && live().where({ id });
      const [changed] = found ? await found.update({ ...fields, updatedAt: now } as never, row as never) : [];
      if (!changed) throw notFound('Connector', id);
      return changed;
    },
    /** Deletes the connector with its credential. @throws DomainError `notFound` if the connector does not exist */
    async markDeleted(id: number): Promise<void> {
      const deleted = parseId(id) === undefined ? 0 : await live().where({ id }).update(deletion);
      if (deleted === 0) throw notFound('Connector', id);
    },
    async markAllDeleted(): Promise<void> {
      await live().update(deletion);
    },
  };
}
