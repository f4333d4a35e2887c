import type { Caller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';

/**
 * Checks that a session's token is used only for that session.
 * @throws DomainError `forbidden` if the token belongs to another session
 */
export function requireOwnSession({ kind, sessionId: own }: Caller, sessionId: string | number): void {
  if (kind === 'session' && own !== parseId(sessionId)) throw forbidden('This token belongs to another session');
}
