import { notFound } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import type { TenantDb } from '@parley/postgres/database/types';
import { type KnowledgeBase, knowledgeBases } from '../knowledge.ts';

export type KnowledgeBaseSummary = Pick<KnowledgeBase, 'id' | 'name' | 'description'>;
export type NewKnowledgeBase = Pick<KnowledgeBase, 'name' | 'description' | 'embeddingModel'>;

/** Stores the tenant's bases. Deleted bases are not found. */
export function baseStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const live = () => knex<KnowledgeBase>('knowledge_bases').where({ tenantId }).whereNull('deletedAt');
  const now = knex.raw('parley_now()');

  return {
    async find(id: number): Promise<KnowledgeBase | undefined> {
      return parseId(id) === undefined ? undefined : live().where({ id }).first();
    },
    /** @throws DomainError `notFound` if the base does not exist */
    async get(id: number): Promise<KnowledgeBase> {
      const base = await this.find(id);
      if (!base) throw notFound('Knowledge base', id);
      return base;
    },
    /**
     * Prevents deletion of the base and a change of its embedding model until the commit.
     * @throws DomainError `notFound` if the base does not exist
     */
    async lockShared(id: number): Promise<KnowledgeBase> {
      const base = parseId(id) === undefined ? undefined : await live().where({ id }).forShare().first();
      if (!base) throw notFound('Knowledge base', id);
      return base;
    },
    async list(): Promise<KnowledgeBase[]> {
      const query = live().select(knex.raw(columnsWithin(db, knowledgeBases)));
      return listWithin<KnowledgeBase>(db, query.orderBy('id'));
    },
    /**
     * Lists bases by id, with descriptions shortened to 500 characters.
     * @param ids Default: all bases
     */
    async listFirst(first: number, ids?: readonly number[]): Promise<KnowledgeBaseSummary[]> {
      const query = live().orderBy('id').limit(first);
      if (ids)
        void query.whereIn(
          'id',
          ids.filter((id) => parseId(id) !== undefined),
        );
      return query.select<KnowledgeBaseSummary[]>('id', 'name', knex.raw('left(description, 500) AS description'));
    },
    async insert(fields: NewKnowledgeBase): Promise<KnowledgeBase> {
      const [base] = await knex('knowledge_bases').insert({ ...fields, tenantId }, '*');
      return base;
    },
    async markDeleted(id: number): Promise<void> {
      const deleted = parseId(id) === undefined ? 0 : await live().where({ id }).update({ deletedAt: now });
      if (deleted === 0) throw notFound('Knowledge base', id);
    },
  };
}
