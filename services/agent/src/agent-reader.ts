import { notFound } from '@parley/kernel/errors';
import type { Database } from '@parley/postgres/database/types';
import type { Agent } from './agent.ts';
import { agentStore } from './agent-store.ts';

/** Reads one agent of a tenant, whether deleted or not. @throws DomainError `notFound` */
export type AgentReader = (tenantId: number, id: number) => Promise<Agent>;

/** The agents that are read together next; ids are added until the reading begins. */
interface Batch {
  ids: Set<number>;
  agents: Promise<Map<number, Agent>>;
}

/**
 * Reads what is asked for while a tenant's last reading is under way with one statement after it, so that fifty turns that begin
 * at once cost two short transactions and not fifty. Nothing is kept: a reading begins after it was asked for, and sees
 * whatever was committed before.
 */
export function agentReader(database: Database): AgentReader {
  const gathering = new Map<number, Batch>();
  const underWay = new Map<number, Promise<unknown>>();

  async function readBatch(tenantId: number, ids: Set<number>): Promise<Map<number, Agent>> {
    await underWay.get(tenantId);
    gathering.delete(tenantId);
    const reading = database.read(tenantId, (db) => agentStore(db).listByIds([...ids]));
    const settled = Promise.allSettled([reading]);
    underWay.set(tenantId, settled);
    try {
      return new Map((await reading).map((agent) => [agent.id, agent]));
    } finally {
      if (underWay.get(tenantId) === settled) underWay.delete(tenantId);
    }
  }

  return async (tenantId, id) => {
    let batch = gathering.get(tenantId);
    if (!batch) {
      const ids = new Set<number>();
      batch = { ids, agents: readBatch(tenantId, ids) };
      gathering.set(tenantId, batch);
    }
    batch.ids.add(id);
    const agent = (await batch.agents).get(id);
    if (!agent) throw notFound('Agent', id);
    return agent;
  };
}
