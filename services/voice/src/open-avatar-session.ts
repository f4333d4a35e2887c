import { badRequest, DomainError, forbidden } from '@parley/kernel/errors';
import { parseInput, text } from '@parley/kernel/input';
import type { TokenClaims } from '@parley/kernel/secrets/session-token';
import { z } from 'zod';
import type { Ports } from './ports.ts';
import type { Asking } from './speech.ts';

const claimed = z.object({ vendorAvatarId: text(1_000).nullish(), vendorAvatarModel: text(1_000).nullish() });

/**
 * Opens a session of the hosted avatar to which the token is bound. Avatar ids in the request are only compared with the token's.
 * @throws DomainError `internal` for every fault of the vendor
 */
export async function openAvatarSession(
  { openVendorSession, provide }: Ports,
  claims: TokenClaims,
  input: unknown,
  asking: Asking,
): Promise<{ sessionToken: string }> {
  if (claims.audience !== 'session') throw forbidden('This takes the token of a session');
  const given = parseInput(claimed, input as z.input<typeof claimed>, '');
  const { avatarBackendConfig: avatar, tenantId } = claims;
  if (!avatar) throw badRequest('The agent of this session has no hosted avatar');
  for (const field of ['vendorAvatarId', 'vendorAvatarModel'] as const) {
    const value = given[field] ?? undefined;
    if (value !== undefined && value !== avatar[field]) throw forbidden(`${field} is not that of the agent`);
  }
  if (!openVendorSession) throw failed(new Error('AVATAR_VENDOR_URL is not set'));
  const open = openVendorSession;
  const sessionToken = await provide('avatar', tenantId, asking.signal, async () => {
    try {
      return await open(avatar, asking);
    } catch (error) {
      asking.signal.throwIfAborted();
      throw failed(error);
    }
  });
  return { sessionToken };
}

function failed(cause: unknown): DomainError {
  return new DomainError('internal', 'The avatar session could not be opened', { cause });
}
