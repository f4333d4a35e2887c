import { type Caller, inTenant } from '@parley/kernel/caller';
import { requireId } from '@parley/kernel/row-id';
import { closeSession } from './close-session.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';

/** Ends a session and has it evaluated; if it has ended, returns it unchanged. @throws DomainError `notFound` */
export async function endSession(ports: Ports, caller: Caller, id: string, gone?: AbortSignal): Promise<Session> {
  const { tenantId } = inTenant(caller);
  const sessionId = requireId('Session', id);
  return closeSession(ports, { tenantId, sessionId, status: 'ENDED', gone });
}
