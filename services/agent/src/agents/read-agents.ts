import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { page, parseInput } from '@parley/kernel/input';
import { parseId, requireId } from '@parley/kernel/row-id';
import type { QueryAgentsArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { Agent, AuditLog, ListedAgent } from './agent.ts';
import { agentStore } from './agent-store.ts';
import { auditLogStore } from './audit-log-store.ts';

export async function findAgent(
  { database }: Ports,
  { caller }: TenantRequest,
  id: string | number,
): Promise<Agent | undefined> {
  const agentId = parseId(id);
  if (agentId === undefined) return undefined;
  return database.transact(caller.tenantId, (db) => agentStore(db).findLive(agentId));
}

/** Returns an agent, even if it is deleted. @throws DomainError `notFound` if the tenant never had this agent */
export function getAgent({ readAgent }: Ports, { caller }: TenantRequest, id: number): Promise<Agent> {
  return readAgent(caller.tenantId, id);
}

/**
 * Reads agents with one statement, deleted ones included. @throws DomainError `invalid` with `ANSWER_TOO_LARGE` if the selected fields are
 * too large in total
 */
export async function agentsByIds(
  { database }: Ports,
  { caller }: TenantRequest,
  ids: readonly number[],
): Promise<(ListedAgent | undefined)[]> {
  const agents = await database.transact(caller.tenantId, (db) => agentStore(db).listSelectedByIds(ids));
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  return ids.map((id) => byId.get(id));
}

export async function listAgents(
  { database }: Ports,
  { caller }: TenantRequest,
  query: QueryAgentsArgs,
): Promise<ListedAgent[]> {
  const bounds = parseInput(page, query, '');
  return database.transact(caller.tenantId, (db) => agentStore(db).list(bounds));
}

export function countAgents({ database }: Ports, { caller }: TenantRequest): Promise<number> {
  return database.transact(caller.tenantId, (db) => agentStore(db).count());
}

/** Lists audit entries, newest first, even of a deleted agent. @throws DomainError `notFound` if the tenant never had this agent */
export async function listAuditLogs(
  { database }: Ports,
  { caller }: TenantRequest,
  id: string | number,
): Promise<AuditLog[]> {
  const agentId = requireId('Agent', id);
  return database.transact(caller.tenantId, async (db) => {
    if (!(await agentStore(db).exists(agentId))) throw notFound('Agent', agentId);
    return auditLogStore(db).listOf(agentId);
  });
}
