import type { Caller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';
import type { Ports } from './ports.ts';

/** Makes a new signing key. Tokens signed with the old one stay good until they end. Answers the new key's `kid`. */
export async function rotateSigningKey({ keys, settings }: Ports, caller: Caller): Promise<string> {
  if (caller.kind !== 'service' || caller.tenantId !== null) throw forbidden('Only the mesh itself rotates keys');
  return keys.rotate(settings.accessTokenTtlS);
}
