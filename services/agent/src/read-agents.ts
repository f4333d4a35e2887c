import type { TenantCaller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { page, parseInput } from '@parley/kernel/input';
import type { Agent, AuditLog, ListedAgent } from './agent.ts';
import { agentStore } from './agent-store.ts';
import { auditLogStore } from './audit-log-store.ts';
import type { QueryAgentsArgs } from './generated/schema.ts';
import type { Ports } from './ports.ts';

type Reads = Pick<Ports, 'database'>;

/** One of the caller's agents, unless it is deleted. */
export function findAgent({ database }: Reads, caller: TenantCaller, id: number): Promise<Agent | undefined> {
  return database.transact(caller.tenantId, (db) => agentStore(db).findLive(id));
}

/** One of the caller's agents, deleted ones included. @throws DomainError `notFound` */
export function getAgent({ readAgent }: Pick<Ports, 'readAgent'>, caller: TenantCaller, id: number): Promise<Agent> {
  return readAgent(caller.tenantId, id);
}

/**
 * For each id its agent, deleted ones included, by one statement.
 * @throws DomainError `invalid`, `ANSWER_TOO_LARGE`, when the answer has no room for them.
 */
export async function agentsByIds(
  { database }: Reads,
  caller: TenantCaller,
  ids: readonly number[],
): Promise<(ListedAgent | undefined)[]> {
  const agents = await database.transact(caller.tenantId, (db) => agentStore(db).listShown(ids));
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  return ids.map((id) => byId.get(id));
}

/**
 * The caller's agents by id, hidden and deleted ones not among them.
 * @throws DomainError `invalid`, `ANSWER_TOO_LARGE`, when the answer has no room for them.
 */
export async function listAgents(
  { database }: Reads,
  caller: TenantCaller,
  query: QueryAgentsArgs,
): Promise<ListedAgent[]> {
  const bounds = parseInput(page, query, '');
  return database.transact(caller.tenantId, (db) => agentStore(db).list(bounds));
}

/** How many agents `listAgents` gives without a bound. */
export function countAgents({ database }: Reads, caller: TenantCaller): Promise<number> {
  return database.transact(caller.tenantId, (db) => agentStore(db).count());
}

/** What was changed on an agent, newest first; a deleted agent's too. @throws DomainError `notFound`; `invalid`, `ANSWER_TOO_LARGE`. */
export function listAuditLogs({ database }: Reads, caller: TenantCaller, agentId: number): Promise<AuditLog[]> {
  return database.transact(caller.tenantId, async (db) => {
    if (!(await agentStore(db).exists(agentId))) throw notFound('Agent', agentId);
    return auditLogStore(db).listOf(agentId);
  });
}
