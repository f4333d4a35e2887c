import { randomUUID } from 'node:crypto';
import type { SharedDb } from '@parley/postgres/database/types';
import type { Ports } from './ports.ts';
import { newRefreshToken, refreshTokenSha256 } from './refresh-token.ts';
import { signInStore } from './sign-in-store.ts';

export interface BeginSignIn {
  userId: number;
  /** `last`: the tenant that the user chose last, if it can still be used. */
  tenantId: number | 'last' | null;
  /** Why it may do next to nothing yet; null: it is complete. */
  limitedReason: string | null;
  /** The client's address. */
  ip: string | null;
  /** Push-notification token of the device. */
  fcmToken: string | null;
}

/** Stores a sign-in with its first refresh token. The raw token exists in the answer alone. */
export async function beginSignIn({ box, settings }: Ports, db: SharedDb, { fcmToken, ...signIn }: BeginSignIn) {
  const id = randomUUID();
  const refreshToken = newRefreshToken();
  await signInStore(db).insert({
    id,
    ...signIn,
    fcmTokenSealed: fcmToken === null ? null : box.seal(fcmToken, `identity.sign_ins.fcm_token:${id}`),
    refreshToken: { sha256: refreshTokenSha256(refreshToken), ttlS: settings.refreshTokenTtlS },
  });
  return { signInId: id, userId: signIn.userId, refreshToken, refreshExpiresIn: settings.refreshTokenTtlS };
}
