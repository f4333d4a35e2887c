import { inNoTenant } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, isDomainError, notFound } from '@parley/kernel/errors';
import { anyText, parseInput, rule } from '@parley/kernel/input';
import { storageProblem } from '@parley/kernel/input-checks';
import { parseId } from '@parley/kernel/row-id';
import { committedUnder, onceUnder } from '@parley/postgres/committed-keys';
import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { tenantTombstones } from '@parley/postgres/tenant-tombstones';
import type { Agent } from '@parley/protos/parley/agent/v1/agent';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { z } from 'zod';
import { expiryKind } from './commit-session-end.ts';
import { eventStore } from './event-store.ts';
import { maxDelayMs } from './expire-session.ts';
import type { StartSessionInput } from './generated/schema.ts';
import { messageStore } from './message-store.ts';
import { contextTokens } from './message-tokens.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import { replyEvent, statusEvent } from './session-event.ts';
import { sessionLog } from './session-log.ts';
import { sessionStore } from './session-store.ts';

const newSession = z.object({
  agentId: z.number(),
  clientExternalId: anyText(1_000),
  metadata: z.unknown().check(rule(metadataProblem)).optional(),
});

const maxMetadataBytes = 64 * 1024;

/**
 * An agent without a workflow greets first. Answers the session that was started under the effect key, if any.
 * @throws DomainError `invalid`; `notFound`: the agent; `NO_TENANT`: just deleted
 */
export async function startSession(ports: Ports, request: TenantRequest, input: StartSessionInput): Promise<Session> {
  const { database } = ports;
  const { tenantId } = request.caller;
  const given = parseInput(newSession, input);
  // Before the agent is asked, which may be gone by the time of a retry.
  const started = await committedUnder(database, request);
  if (started !== undefined) return database.transact(tenantId, (db) => sessionStore(db).get(Number(started)));
  const agent = await getActiveAgent(ports, request, given.agentId);
  const greeting = agent.workflowId === undefined ? agent.openingGreeting : '';

  async function start(db: TenantDb): Promise<string> {
    await tenantTombstones(db).lockShared();
    const created = await sessionStore(db).insert({ ...given, metadata: given.metadata ?? null });
    if (!created) throw inNoTenant();
    const log = sessionLog(ports.eventLog, created, ports.log);
    const [activeId, greetingId] = await log.reserve(greeting === '' ? 1 : 2, created.lastEventId);
    if (activeId === undefined) throw new Error('the event log reserved nothing');

    const occurredAt = await eventStore(db).insert(created.id, activeId, { status: 'ACTIVE' });
    const events: SessionEvent[] = [statusEvent({ eventId: activeId, sessionId: created.id, occurredAt }, 'ACTIVE')];
    if (greetingId !== undefined) {
      const message = await messageStore(db).insertGreeting(created.id, greeting, contextTokens(greeting));
      const header = { eventId: greetingId, sessionId: created.id };
      const greetedAt = await eventStore(db).insert(created.id, greetingId, { messageId: message.id });
      events.push(
        replyEvent({ ...header, occurredAt: greetedAt }, { turnIndex: 0, clientTurnId: null }, message, false),
      );
    }
    await sessionStore(db).recordLastEvent(created.id, greetingId ?? activeId);
    const delayMs = Math.min(ports.settings.idleMs, ports.settings.maxAgeMs, maxDelayMs);
    await jobs(db).append({ kind: expiryKind, key: String(created.id), data: { sessionId: created.id }, delayMs });
    db.afterCommit(() => void log.publish(events));
    return String(created.id);
  }

  return database.transact(tenantId, async (db) => {
    const id = await onceUnder(db, request, () => start(db));
    return sessionStore(db).get(Number(id));
  });
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
