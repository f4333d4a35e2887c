import { type Caller, inTenant } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { closeSession } from './close-session.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import { parseId } from './session-id.ts';

/** Ends a session and has it evaluated; if it has ended, returns it unchanged. @throws DomainError `notFound` */
export async function endSession(ports: Ports, caller: Caller, id: string, gone?: AbortSignal): Promise<Session> {
  const { tenantId } = inTenant(caller);
  const sessionId = parseId(id);
  if (sessionId === undefined) throw notFound('Session', id);
  return closeSession(ports, { tenantId, sessionId, status: 'ENDED', gone });
}
