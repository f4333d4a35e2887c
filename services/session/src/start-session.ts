import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, isDomainError, notFound } from '@parley/kernel/errors';
import { anyText, parseInput, rule } from '@parley/kernel/input';
import { storageProblem } from '@parley/kernel/input-checks';
import { parseId } from '@parley/kernel/row-id';
import { committedUnder } from '@parley/postgres/committed-keys';
import type { Agent } from '@parley/protos/parley/agent/v1/agent';
import { z } from 'zod';
import type { StartSessionInput } from './generated/schema.ts';
import { openSession } from './open-session.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import { sessionStore } from './session-store.ts';

const newSession = z.object({
  agentId: z.number(),
  clientExternalId: anyText(1_000),
  metadata: z.unknown().check(rule(metadataProblem)).optional(),
});

const maxMetadataBytes = 64 * 1024;

/**
 * Starts a session. An agent without a workflow sends a greeting first. If an earlier call with the same effect key has started a session,
 * returns that session.
 * @throws DomainError `invalid` if the input is invalid
 * @throws DomainError `notFound` if the agent does not exist
 * @throws DomainError `forbidden` with reason `NO_TENANT` if the tenant was just deleted
 */
export async function startSession(ports: Ports, request: TenantRequest, input: StartSessionInput): Promise<Session> {
  const { database } = ports;
  const { tenantId } = request.caller;
  const given = parseInput(newSession, input);
  // The effect key is checked before the agent is loaded, because the agent may have been deleted before a retry.
  const started = await committedUnder(database, request);
  if (started !== undefined) return database.transact(tenantId, (db) => sessionStore(db).get(Number(started)));
  const agent = await getActiveAgent(ports, request, given.agentId);
  const greeting = agent.workflowId === undefined ? agent.openingGreeting : '';

  return openSession(ports, request, { ...given, metadata: given.metadata ?? null }, { kind: 'text', text: greeting });
}

function metadataProblem(metadata: unknown): string | undefined {
  const unstorable = storageProblem(metadata);
  if (unstorable) return unstorable;
  const bytes = Buffer.byteLength(JSON.stringify(metadata ?? null));
  return bytes > maxMetadataBytes ? 'must be at most 64 KB of JSON' : undefined;
}

async function getActiveAgent(ports: Ports, { caller }: TenantRequest, agentId: number): Promise<Agent> {
  const notThere = () => notFound('Agent', agentId);
  if (parseId(agentId) === undefined) throw notThere();
  const { agent } = await ports.agent
    .getAgent({ agentId }, { caller, expectedErrors: ['notFound'] })
    .catch((error: unknown) => {
      throw isDomainError(error, 'notFound') ? notThere() : error;
    });
  if (!agent || agent.deleted) throw notThere();
  if (!agent.active) throw badRequest(`Agent ${agentId} is not active`);
  return agent;
}
