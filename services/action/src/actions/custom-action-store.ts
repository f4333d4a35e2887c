import { notFound } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import { columnsOf, written } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import type { ActionFields } from '../custom-actions/custom-action.ts';
import { customActions, type SealedAction, type StoredAction } from './stored-action.ts';

/** Actions of the tenant; deleted ones are not found. */
export function customActionStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const live = () => knex<StoredAction>('custom_actions').where({ tenantId }).whereNull('deletedAt');
  const now = knex.raw('parley_now()');
  const row = knex.raw(columnsOf(customActions));
  const deletion = { deletedAt: now, credentialSealed: null } as never;

  return {
    async list(): Promise<StoredAction[]> {
      return listWithin<StoredAction>(
        db,
        live()
          .select(knex.raw(columnsWithin(db, customActions)))
          .orderBy('id'),
      );
    },
    async count(): Promise<number> {
      return Number((await live().count({ count: '*' }).first())?.['count'] ?? 0);
    },
    /** Finds the actions that exist among `ids`, with their credentials, in any order. */
    async listSealed(ids: readonly number[]): Promise<SealedAction[]> {
      return rowsBy(knex)<SealedAction>(
        `SELECT ${columnsOf(customActions)}, credential_sealed FROM custom_actions
          WHERE tenant_id = :tenantId AND id = any(cast(:ids AS integer[])) AND deleted_at IS NULL`,
        { tenantId, ids: ids.filter((id) => parseId(id) !== undefined) },
      );
    },
    /** Lists all actions in the order of their ids. A tenant has a limited number of actions. */
    async listAll(): Promise<StoredAction[]> {
      return live()
        .orderBy('id')
        .select(row as never);
    },
    /** @throws DomainError `notFound` if the action does not exist */
    async lock(id: number): Promise<StoredAction> {
      const [found] = await rowsBy(knex)<StoredAction>(
        `SELECT ${columnsOf(customActions)} FROM custom_actions
          WHERE tenant_id = :tenantId AND id = :id AND deleted_at IS NULL FOR UPDATE`,
        { tenantId, id: parseId(id) ?? 0 },
      );
      if (!found) throw notFound('Custom action', id);
      return found;
    },
    /** @param seal seals the credential for the inserted row; returns null if the action has no credential */
    async insert(fields: ActionFields, seal: (row: StoredAction) => Buffer | null): Promise<StoredAction> {
      const [made] = await knex('custom_actions').insert({ ...written(customActions, fields), tenantId }, row as never);
      const credentialSealed = seal(made);
      if (credentialSealed) await knex('custom_actions').where({ tenantId, id: made.id }).update({ credentialSealed });
      return made;
    },
    /** @param clears whether to delete the stored credential */
    async update(id: number, fields: Partial<ActionFields>, clears: boolean): Promise<StoredAction> {
      const [changed] = await knex('custom_actions')
        .where({ tenantId, id })
        .update(
          { ...written(customActions, fields), ...(clears && { credentialSealed: null }), updatedAt: now },
          row as never,
        );
      return changed as StoredAction;
    },
    /** Deletes the action with its credential. @throws DomainError `notFound` if the action does not exist */
    async markDeleted(id: number): Promise<void> {
      const deleted = parseId(id) === undefined ? 0 : await live().where({ id }).update(deletion);
      if (deleted === 0) throw notFound('Custom action', id);
    },
    async markAllDeleted(): Promise<void> {
      await live().update(deletion);
    },
  };
}
