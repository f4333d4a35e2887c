import { type Caller, inTenant } from '@parley/kernel/caller';
import { badRequest, forbidden, isDomainError, notFound } from '@parley/kernel/errors';
import { anyText, parseInput, rule } from '@parley/kernel/input';
import { whyUnstorable } from '@parley/kernel/input-checks';
import { jobs } from '@parley/postgres/jobs/jobs';
import { tenantTombstones } from '@parley/postgres/tenant-tombstones';
import type { Agent } from '@parley/protos/parley/agent/v1/agent';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { z } from 'zod';
import { expiryKind } from './conclude-session.ts';
import { eventStore } from './event-store.ts';
import { longestDelayMs } from './expire-session.ts';
import type { StartSessionInput } from './generated/schema.ts';
import { messageStore } from './message-store.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import { replyEvent, statusEvent } from './session-event.ts';
import { parseId } from './session-id.ts';
import { sessionLog } from './session-log.ts';
import { sessionStore } from './session-store.ts';
import { contextTokens } from './tokens.ts';

const newSession = z.object({
  agentId: z.number(),
  clientExternalId: anyText(1_000),
  metadata: z.unknown().check(rule(whyNoMetadata)).optional(),
});

const maxMetadataBytes = 64 * 1024;

/**
 * Begins a conversation with an active agent. One that has a greeting and no workflow says it: no call, no cost.
 * @throws DomainError `forbidden` with `NO_TENANT` when the tenant has just been deleted.
 */
export async function startSession(ports: Ports, caller: Caller, input: StartSessionInput): Promise<Session> {
  const { tenantId } = inTenant(caller);
  const given = parseInput(newSession, input);
  const agent = await getActiveAgent(ports, caller, given.agentId);
  const greeting = agent.workflowId === undefined ? agent.openingGreeting : '';

  return ports.database.transact(tenantId, async (db) => {
    await tenantTombstones(db).lockShared();
    const begun = await sessionStore(db).insert({ ...given, metadata: given.metadata ?? null });
    if (!begun) throw forbidden('You belong to no tenant yet; create or choose one', 'NO_TENANT');
    const log = sessionLog(ports.eventLog, begun, ports.log);
    const [activeId, greetingId] = await log.reserve(greeting === '' ? 1 : 2, begun.lastEventId);
    if (activeId === undefined) throw new Error('the event log reserved nothing');

    const occurredAt = await eventStore(db).insert(begun.id, activeId, { status: 'ACTIVE' });
    const events: SessionEvent[] = [statusEvent({ eventId: activeId, sessionId: begun.id, occurredAt }, 'ACTIVE')];
    if (greetingId !== undefined) {
      const message = await messageStore(db).insertGreeting(begun.id, greeting, contextTokens(greeting));
      const about = { eventId: greetingId, sessionId: begun.id };
      const said = await eventStore(db).insert(begun.id, greetingId, { messageId: message.id });
      events.push(replyEvent({ ...about, occurredAt: said }, { turnIndex: 0, clientTurnId: null }, message, false));
    }
    await sessionStore(db).noteEvent(begun.id, greetingId ?? activeId);
    const delayMs = Math.min(ports.settings.idleMs, ports.settings.maxAgeMs, longestDelayMs);
    await jobs(db).append({ kind: expiryKind, key: String(begun.id), data: { sessionId: begun.id }, delayMs });
    db.afterCommit(() => void log.publish(events));
    return sessionStore(db).get(begun.id);
  });
}

function whyNoMetadata(metadata: unknown): string | undefined {
  const unstorable = whyUnstorable(metadata);
  if (unstorable) return unstorable;
  const bytes = Buffer.byteLength(JSON.stringify(metadata ?? null));
  return bytes > maxMetadataBytes ? 'must be at most 64 KB of JSON' : undefined;
}

async function getActiveAgent(ports: Ports, caller: Caller, agentId: number): Promise<Agent> {
  const absent = () => notFound('Agent', agentId);
  if (parseId(agentId) === undefined) throw absent();
  const { agent } = await ports.agent
    .getAgent({ agentId }, { caller, passOn: ['notFound'] })
    .catch((error: unknown) => {
      throw isDomainError(error, 'notFound') ? absent() : error;
    });
  if (!agent || agent.deleted) throw absent();
  if (!agent.active) throw badRequest(`Agent ${agentId} is not active`);
  return agent;
}
