import type { Caller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';

/** @throws DomainError `forbidden` for a session token of another session */
export function requireOwnSession({ kind, sessionId: own }: Caller, sessionId: number): void {
  if (kind === 'session' && own !== sessionId) throw forbidden('This token belongs to another session');
}
