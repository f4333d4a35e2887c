import type { Caller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';
import type { Ports } from './ports.ts';

/** Returns the new key's `kid`. Tokens that were signed with the old key stay valid until they expire. */
export async function rotateSigningKey({ keys, settings }: Ports, caller: Caller): Promise<string> {
  if (caller.kind !== 'service' || caller.tenantId !== null) throw forbidden('Only the mesh itself rotates keys');
  return keys.rotate(settings.accessTokenTtlS);
}
