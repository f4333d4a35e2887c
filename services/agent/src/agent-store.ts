import { notFound } from '@parley/kernel/errors';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { written } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { type Agent, type AgentFields, agents, type ListedAgent } from './agent.ts';

/** How a list is bounded: at most `first`, those whose id is above `after`. */
interface AgentPage {
  first?: number | undefined;
  after?: number | undefined;
}

/** One tenant's agents. */
export function agentStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const mine = () => knex<Agent>('agents').where({ tenantId });
  const live = () => mine().whereNull('deletedAt');
  const listed = () => live().where({ hidden: false });
  const now = knex.raw('parley_now()');
  const shown = (query: ReturnType<typeof mine>) =>
    listWithin<ListedAgent>(db, query.select(knex.raw(columnsWithin(db, agents))));

  return {
    /** Unless it is deleted; hidden ones too. */
    async findLive(id: number): Promise<Agent | undefined> {
      return live().where({ id }).first();
    },
    /** Keeps the row from others until the transaction ends. @throws DomainError `notFound`, also when it is deleted. */
    async lockLive(id: number): Promise<Agent> {
      const agent = await live().where({ id }).forUpdate().first();
      if (!agent) throw notFound('Agent', id);
      return agent;
    },
    /** Those of these ids that are there, deleted ones included, in any order. */
    async listByIds(ids: readonly number[]): Promise<Agent[]> {
      return mine().whereIn('id', [...ids]);
    },
    /** The same for an answer, with the fields that it shows. @throws DomainError `invalid`, `ANSWER_TOO_LARGE`. */
    async listShown(ids: readonly number[]): Promise<ListedAgent[]> {
      return shown(mine().whereIn('id', [...ids]));
    },
    /** By id, with the fields that the answer shows. @throws DomainError `invalid`, `ANSWER_TOO_LARGE`. */
    async list({ first, after }: AgentPage): Promise<ListedAgent[]> {
      const query = listed().orderBy('id');
      if (after !== undefined) void query.where('id', '>', after);
      if (first !== undefined) void query.limit(first);
      return shown(query);
    },
    async count(): Promise<number> {
      const row = await listed().count<{ count: number }[]>({ count: '*' }).first();
      return row?.count ?? 0;
    },
    async exists(id: number): Promise<boolean> {
      return (await mine().where({ id }).first('id')) !== undefined;
    },
    async insert(fields: AgentFields): Promise<Agent> {
      const [agent] = await knex('agents').insert({ ...written(agents, fields), tenantId }, '*');
      return agent;
    },
    async update(id: number, fields: Partial<AgentFields>): Promise<Agent> {
      const [agent] = await knex('agents')
        .where({ tenantId, id })
        .update({ ...written(agents, fields), updatedAt: now }, '*');
      return agent;
    },
    /** Whether there was one to delete. */
    async markDeleted(id: number): Promise<boolean> {
      const changed = await live().where({ id }).update({ deletedAt: now, updatedAt: now });
      return changed > 0;
    },
  };
}
