import type { Caller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';

/** @throws DomainError `forbidden` with another session's token */
export function requireOwnSession({ kind, sessionId: own }: Caller, sessionId: string | number): void {
  if (kind === 'session' && own !== parseId(sessionId)) throw forbidden('This token belongs to another session');
}
