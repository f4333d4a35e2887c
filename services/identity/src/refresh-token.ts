import { createHash, createHmac, randomBytes } from 'node:crypto';

const prefix = 'prt_';

/** The first refresh token of a sign-in: 256 random bits. */
export function newRefreshToken(): string {
  return prefix + randomBytes(32).toString('base64url');
}

/**
 * The only successor of a refresh token. It is derived, not random, so that a repeated exchange can return the same one although
 * only hashes are stored.
 */
export function successorOf(refreshToken: string, key: Uint8Array): string {
  return prefix + createHmac('sha256', key).update(refreshToken).digest('base64url');
}

/** The stored form of a refresh token. */
export function refreshTokenSha256(refreshToken: string): Buffer {
  return createHash('sha256').update(refreshToken).digest();
}
