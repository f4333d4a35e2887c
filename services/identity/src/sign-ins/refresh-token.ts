import { createHash, createHmac, randomBytes } from 'node:crypto';

const prefix = 'prt_';

export function newRefreshToken(): string {
  return prefix + randomBytes(32).toString('base64url');
}

/**
 * Derives a token's successor. It is not random, so that a repeated exchange can return the same successor although only hashes are stored.
 */
export function successorOf(refreshToken: string, key: Uint8Array): string {
  return prefix + createHmac('sha256', key).update(refreshToken).digest('base64url');
}

export function refreshTokenSha256(refreshToken: string): Buffer {
  return createHash('sha256').update(refreshToken).digest();
}
