import { type Caller, inTenant, type TenantCaller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';

/** The caller, if it may access the session. @throws DomainError `forbidden` with another session's token or without a tenant */
export function callerOfSession(caller: Caller, sessionId: string | number): TenantCaller {
  if (caller.kind === 'session' && caller.sessionId !== parseId(sessionId)) {
    throw forbidden('This token belongs to another session');
  }
  return inTenant(caller);
}
