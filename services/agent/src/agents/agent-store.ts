import { DomainError, notFound } from '@parley/kernel/errors';
import type { Page } from '@parley/kernel/input';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import { columnsOf, written } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { type Agent, agents, type ListedAgent } from './agent.ts';
import type { AgentFields } from './agent-input.ts';

export function agentStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const mine = () => knex<Agent>('agents').where({ tenantId });
  const live = () => mine().whereNull('deletedAt');
  const listed = () => live().where({ hidden: false });
  const ofPersona = (sha256: Buffer) => live().whereRaw('persona_sha256 = ?', [sha256]);
  const now = knex.raw('parley_now()');
  const selectListed = (query: ReturnType<typeof mine>) =>
    listWithin<ListedAgent>(db, query.select(knex.raw(columnsWithin(db, agents))));

  return {
    /** Finds an agent that is not deleted. It may be hidden. */
    async findLive(id: number): Promise<Agent | undefined> {
      return live().where({ id }).first();
    },
    async lockLive(id: number): Promise<Agent> {
      const agent = await live().where({ id }).forUpdate().first();
      if (!agent) throw notFound('Agent', id);
      return agent;
    },
    /** Lists agents in no particular order, deleted ones included. */
    async listByIds(ids: readonly number[]): Promise<Agent[]> {
      return rowsBy(knex)<Agent>(
        `SELECT ${columnsOf(agents)} FROM agents WHERE tenant_id = :tenantId AND id = any(cast(:ids AS integer[]))`,
        { tenantId, ids },
      );
    },
    async listSelectedByIds(ids: readonly number[]): Promise<ListedAgent[]> {
      return selectListed(mine().whereRaw('id = any(?)', [[...ids]]));
    },
    async list({ first, after }: Page): Promise<ListedAgent[]> {
      const query = listed().orderBy('id');
      if (after !== undefined) void query.where('id', '>', after);
      if (first !== undefined) void query.limit(first);
      return selectListed(query);
    },
    async count(): Promise<number> {
      const row = await listed().count<{ count: number }[]>({ count: '*' }).first();
      return row?.count ?? 0;
    },
    async exists(id: number): Promise<boolean> {
      return (await mine().where({ id }).first('id')) !== undefined;
    },
    /** Lists the live agents to which a workflow is attached, hidden ones included, in the order of their ids. */
    async listWithWorkflow(workflowId: number, first: number): Promise<Pick<Agent, 'id' | 'name'>[]> {
      return live().where({ workflowId }).orderBy('id').limit(first).select('id', 'name');
    },
    async insert(fields: AgentFields): Promise<Agent> {
      const [agent] = await knex('agents').insert({ ...written(agents, fields), tenantId }, '*');
      return agent;
    },
    /** Returns the hidden agent created for this persona; undefined if it has been changed or deleted since. */
    async findOfPersona(personaSha256: Buffer): Promise<Agent | undefined> {
      return ofPersona(personaSha256).first();
    },
    /**
     * Serializes the creation of the tenant's hidden agents until this transaction ends, so that the limit on their
     * number holds.
     */
    async lockHidden(): Promise<void> {
      await knex.raw(
        `SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.agents hidden'), cast(? AS integer))`,
        [tenantId],
      );
    },
    /** Returns the number of live hidden agents. */
    async countHidden(): Promise<number> {
      const row = await live().where({ hidden: true }).count<{ count: number }[]>({ count: '*' }).first();
      return Number(row?.count ?? 0);
    },
    /** Creates the hidden agent of a persona, or returns the one that a concurrent request created. */
    async insertHidden(fields: AgentFields, personaSha256: Buffer): Promise<Agent> {
      const [agent] = await knex('agents')
        .insert({ ...written(agents, fields), hidden: true, personaSha256, tenantId }, '*')
        .onConflict(knex.raw('(tenant_id, persona_sha256) WHERE persona_sha256 IS NOT NULL AND deleted_at IS NULL'))
        .ignore();
      const found = agent ?? (await ofPersona(personaSha256).first());
      if (!found) throw new DomainError('conflict', 'The agent of this persona is just being changed; try again');
      return found;
    },
    /** Updates an agent. A hidden agent no longer belongs to its persona after the update. */
    async update(id: number, fields: Partial<AgentFields>): Promise<Agent> {
      const [agent] = await knex('agents')
        .where({ tenantId, id })
        .update({ ...written(agents, fields), personaSha256: null, updatedAt: now }, '*');
      return agent;
    },
    async markDeleted(id: number): Promise<boolean> {
      const changed = await live().where({ id }).update({ deletedAt: now, updatedAt: now });
      return changed > 0;
    },
  };
}
