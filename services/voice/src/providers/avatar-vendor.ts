import type { AvatarBinding } from '@parley/kernel/secrets/session-token';
import { z } from 'zod';
import type { Asking } from '../speech.ts';
import { jsonOf, type ProviderCall, unreadable } from './provider-call.ts';

/** Opens a session of a hosted avatar at its vendor and returns the vendor's credential for it. */
export type AvatarVendor = (avatar: AvatarBinding, asking: Asking) => Promise<string>;

const answerShape = z.object({ sessionToken: z.string().min(1).max(16_384) });

export function avatarVendor({ url, key }: { url: string; key: string }, call: ProviderCall): AvatarVendor {
  return async ({ vendorAvatarId, vendorAvatarModel }, asking) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const body = JSON.stringify({ personaConfig: { avatarId: vendorAvatarId, avatarModel: vendorAvatarModel } });
    const answer = await call(`${url}/v1/auth/session-token`, { headers, body }, asking);
    const read = answerShape.safeParse(jsonOf('avatar vendor', answer));
    if (!read.success) throw unreadable('avatar vendor', read.error);
    return read.data.sessionToken;
  };
}
