import { inTenant, serviceCaller } from '@parley/kernel/caller';
import type { CallerRequest } from '@parley/kernel/caller-request';
import { forbidden } from '@parley/kernel/errors';
import { findTenant } from '@parley/service/tenant-facts';
import type { RefreshAvatarTokenInput, RefreshAvatarTokenResult } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { assertActive } from '../session.ts';
import { sessionStore } from '../session-store.ts';
import { invalidToken } from './embed-tokens.ts';

/**
 * Exchanges a token for a new one. The token may have expired, but not longer ago than the grace window allows. The new token has the full
 * lifetime, and the same session, tenant and hosted avatar. The old token remains valid until it expires.
 * @throws DomainError `unauthenticated` if the token is invalid, or its session or tenant does not exist; the error is the same in each
 * case
 * @throws DomainError `invalid` if the session is not active
 * @throws DomainError `forbidden` with reason `TENANT_SUSPENDED` if the tenant is suspended
 */
export async function refreshAvatarToken(
  ports: Ports,
  { caller: { requestId }, signal }: CallerRequest,
  { avatarToken }: RefreshAvatarTokenInput,
): Promise<RefreshAvatarTokenResult> {
  const claims = ports.tokens.verify(avatarToken, 'session', { graceMs: ports.settings.tokenGraceMs });
  const { tenantId, sessionId, avatarBackendConfig } = claims;
  const caller = inTenant(serviceCaller('session', tenantId, requestId));
  const [tenant, session] = await Promise.all([
    findTenant(ports.identity, caller, signal),
    ports.database.read(tenantId, (db) => sessionStore(db).find(sessionId)),
  ]);
  if (!tenant || !session) throw invalidToken();
  if (tenant.suspended) throw forbidden('This tenant is suspended', 'TENANT_SUSPENDED');
  assertActive(session);
  const minted = ports.tokens.mint({ audience: 'session', tenantId, sessionId, avatarBackendConfig });
  return { sessionId, avatarToken: minted.token, expiresInMs: minted.expiresInMs };
}
