import { createHash, createHmac, randomBytes } from 'node:crypto';

const prefix = 'prt_';

/** The first refresh token of a sign-in: 256 random bits. */
export function newRefreshToken(): string {
  return prefix + randomBytes(32).toString('base64url');
}

/**
 * The one successor of a refresh token. Derived rather than drawn, so that a client which raced itself gets the same one
 * again although nothing raw is stored.
 */
export function successorOf(refreshToken: string, key: Uint8Array): string {
  return prefix + createHmac('sha256', key).update(refreshToken).digest('base64url');
}

/** What is stored of a refresh token. */
export function refreshTokenSha256(refreshToken: string): Buffer {
  return createHash('sha256').update(refreshToken).digest();
}
