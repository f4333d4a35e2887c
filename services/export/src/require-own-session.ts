import type { Caller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';

/** @throws DomainError `forbidden` if the caller's session token belongs to another session */
export function requireOwnSession({ kind, sessionId: own }: Caller, sessionId: number): void {
  if (kind === 'session' && own !== sessionId) throw forbidden('This token belongs to another session');
}
