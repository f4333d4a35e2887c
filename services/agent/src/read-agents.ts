import type { TenantCaller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { page, parseInput } from '@parley/kernel/input';
import type { Agent, AuditLog, ListedAgent } from './agent.ts';
import { agentStore } from './agent-store.ts';
import { auditLogStore } from './audit-log-store.ts';
import type { QueryAgentsArgs } from './generated/schema.ts';
import type { Ports } from './ports.ts';

export function findAgent({ database }: Ports, caller: TenantCaller, id: number): Promise<Agent | undefined> {
  return database.transact(caller.tenantId, (db) => agentStore(db).findLive(id));
}

/** Includes deleted agents. @throws DomainError `notFound` */
export function getAgent({ readAgent }: Ports, caller: TenantCaller, id: number): Promise<Agent> {
  return readAgent(caller.tenantId, id);
}

/** With one statement; includes deleted agents. @throws DomainError `invalid` with `ANSWER_TOO_LARGE`, as the lists below. */
export async function agentsByIds(
  { database }: Ports,
  caller: TenantCaller,
  ids: readonly number[],
): Promise<(ListedAgent | undefined)[]> {
  const agents = await database.transact(caller.tenantId, (db) => agentStore(db).listSelectedByIds(ids));
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  return ids.map((id) => byId.get(id));
}

export async function listAgents(
  { database }: Ports,
  caller: TenantCaller,
  query: QueryAgentsArgs,
): Promise<ListedAgent[]> {
  const bounds = parseInput(page, query, '');
  return database.transact(caller.tenantId, (db) => agentStore(db).list(bounds));
}

export function countAgents({ database }: Ports, caller: TenantCaller): Promise<number> {
  return database.transact(caller.tenantId, (db) => agentStore(db).count());
}

/** Newest first, also of a deleted agent. @throws DomainError `notFound` */
export function listAuditLogs({ database }: Ports, caller: TenantCaller, agentId: number): Promise<AuditLog[]> {
  return database.transact(caller.tenantId, async (db) => {
    if (!(await agentStore(db).exists(agentId))) throw notFound('Agent', agentId);
    return auditLogStore(db).listOf(agentId);
  });
}
