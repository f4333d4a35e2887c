import type { TenantRequest } from '@parley/kernel/caller-request';
import { requireId } from '@parley/kernel/row-id';
import { closeSession } from './close-session.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';

/**
 * Ends a session and has it evaluated. Returns the session unchanged if it had already ended.
 * @throws DomainError `notFound` if there is no such session
 */
export async function endSession(ports: Ports, { caller, signal }: TenantRequest, id: string): Promise<Session> {
  const { tenantId } = caller;
  const sessionId = requireId('Session', id);
  return closeSession(ports, { tenantId, sessionId, status: 'ENDED', signal });
}
