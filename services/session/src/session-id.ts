import { type Caller, inTenant, type TenantCaller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';

const maxId = 2 ** 31 - 1;

/** The id as a number; undefined if no row can have it. */
export function parseId(id: string | number): number | undefined {
  const number = typeof id === 'number' ? id : /^[1-9]\d{0,9}$/.test(id) ? Number(id) : Number.NaN;
  return Number.isInteger(number) && number > 0 && number <= maxId ? number : undefined;
}

/** The caller, if it may access the session. @throws DomainError `forbidden` with another session's token or without a tenant */
export function callerOfSession(caller: Caller, sessionId: string | number): TenantCaller {
  if (caller.kind === 'session' && caller.sessionId !== parseId(sessionId)) {
    throw forbidden('This token belongs to another session');
  }
  return inTenant(caller);
}
