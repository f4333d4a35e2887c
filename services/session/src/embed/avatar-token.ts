import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';

/** Returns a tenant's token for the voice service; it does not grant access to a session. */
export function avatarToken({ tokens }: Ports, { caller: { tenantId } }: TenantRequest): string {
  return tokens.mint({ audience: 'voice', tenantId }).token;
}
