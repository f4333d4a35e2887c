import { type Caller, inTenant, type TenantCaller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';

/** @throws DomainError `forbidden` for any caller but the parser on behalf of a tenant */
export function parserInTenant(caller: Caller): TenantCaller {
  if (caller.kind !== 'service' || caller.service !== 'parser') throw forbidden('Only the parser parses documents');
  return inTenant(caller);
}
