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
 * Exchanges a token that is about to expire, or has expired within the grace window, for a new one with the full
 * lifetime, for the same session, tenant and hosted avatar. The old token stays valid until it expires.
 * @throws DomainError `unauthenticated`, the same error for every invalid token and every deleted session; `invalid`:
 * the session is not active; `forbidden` (TENANT_SUSPENDED)
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
