import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';

/** A token of the tenant for the voice service; it opens no session. */
export function avatarToken({ tokens }: Ports, { caller: { tenantId } }: TenantRequest): string {
  return tokens.mint({ audience: 'voice', tenantId }).token;
}
