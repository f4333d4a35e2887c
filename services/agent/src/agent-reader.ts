import { notFound } from '@parley/kernel/errors';
import type { Database } from '@parley/postgres/database/types';
import type { Agent } from './agent.ts';
import { agentStore } from './agent-store.ts';

/** Reads one agent of a tenant, deleted ones included. @throws DomainError `notFound` */
export type AgentReader = (tenantId: number, id: number) => Promise<Agent>;

interface Batch {
  ids: Set<number>;
  agents: Promise<Map<number, Agent>>;
}

/** Requests during a query share the next one, so that fifty turns at once cost two reads. Each sees all earlier commits. */
export function agentReader(database: Database): AgentReader {
  const collecting = new Map<number, Batch>();
  const inFlight = new Map<number, Promise<unknown>>();

  async function readBatch(tenantId: number, ids: Set<number>): Promise<Map<number, Agent>> {
    await inFlight.get(tenantId);
    collecting.delete(tenantId);
    const reading = database.read(tenantId, (db) => agentStore(db).listByIds([...ids]));
    const settled = Promise.allSettled([reading]);
    inFlight.set(tenantId, settled);
    try {
      return new Map((await reading).map((agent) => [agent.id, agent]));
    } finally {
      if (inFlight.get(tenantId) === settled) inFlight.delete(tenantId);
    }
  }

  return async (tenantId, id) => {
    let batch = collecting.get(tenantId);
    if (!batch) {
      const ids = new Set<number>();
      batch = { ids, agents: readBatch(tenantId, ids) };
      collecting.set(tenantId, batch);
    }
    batch.ids.add(id);
    const agent = (await batch.agents).get(id);
    if (!agent) throw notFound('Agent', id);
    return agent;
  };
}
