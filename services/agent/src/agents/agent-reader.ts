import { notFound } from '@parley/kernel/errors';
import { inBatchesOfKey } from '@parley/kernel/queues/in-batches';
import type { Database } from '@parley/postgres/database/types';
import type { Agent } from './agent.ts';
import { agentStore } from './agent-store.ts';

/** Reads one agent of a tenant, even if the agent is deleted. @throws DomainError `notFound` if the tenant never had this agent */
export type AgentReader = (tenantId: number, id: number) => Promise<Agent>;

/**
 * Creates a reader that batches: requests that arrive during a query share the next query, so that fifty concurrent
 * turns cost two queries. Each request sees all earlier commits.
 */
export function agentReader(database: Database): AgentReader {
  const find = inBatchesOfKey(
    { name: 'agents of several turns', atOnce: 1, size: 1_000 },
    async (tenantId: number, ids: number[]) => {
      const agents = await database.read(tenantId, (db) => agentStore(db).listByIds([...new Set(ids)]));
      const byId = new Map(agents.map((agent) => [agent.id, agent]));
      return ids.map((id) => byId.get(id));
    },
  );
  return async (tenantId, id) => {
    const agent = await find(tenantId, id);
    if (!agent) throw notFound('Agent', id);
    return agent;
  };
}
