import { randomUUID } from 'node:crypto';
import type { SharedDb } from '@parley/postgres/database/types';
import type { Ports } from '../ports.ts';
import { newRefreshToken, refreshTokenSha256 } from './refresh-token.ts';
import { type NewSignIn, signInStore } from './sign-in-store.ts';

export interface BeginSignIn extends Omit<NewSignIn, 'id' | 'fcmTokenSealed' | 'refreshToken'> {
  fcmToken?: string | null;
}

/** Inserts a sign-in and returns its first refresh token. The database stores only the hash of that token. */
export async function beginSignIn({ box, settings }: Ports, db: SharedDb, { fcmToken = null, ...signIn }: BeginSignIn) {
  const id = randomUUID();
  const refreshToken = newRefreshToken();
  await signInStore(db).insert({
    id,
    ...signIn,
    fcmTokenSealed: fcmToken === null ? null : box.seal(fcmToken, fcmTokenPlace(id)),
    refreshToken: { sha256: refreshTokenSha256(refreshToken), ttlS: settings.refreshTokenTtlS },
  });
  return { signInId: id, userId: signIn.userId, refreshToken, refreshExpiresIn: settings.refreshTokenTtlS };
}

export const fcmTokenPlace = (signInId: string): string => `identity.sign_ins.fcm_token:${signInId}`;
