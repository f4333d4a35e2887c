import { createHash, randomBytes, randomInt } from 'node:crypto';
import { badRequest } from '@parley/kernel/errors';
import { anyText } from '@parley/kernel/input';
import { z } from 'zod';
import { normalizeText } from '../accounts/normalize-text.ts';
import type { ValidateSecuredTokenInput } from '../generated/schema.ts';
import type { IdentityKeys } from '../keys/identity-keys.ts';

/** A six-digit code that is typed in, or a token of 256 random bits for a link or an invitation. */
export type SecuredTokenType = 'TIMED_OTP' | 'SECURED_TOKEN';

export const validForS: Record<SecuredTokenType, number> = { TIMED_OTP: 10 * 60, SECURED_TOKEN: 60 * 60 };

const prefix = 'pst_';
const maxLength = 100;
const maxId = 2_147_483_647;

export const presentedToken = z.object({ token: anyText(), contact: anyText().nullish(), id: z.number().nullish() });

export function newSecuredTokenId(): number {
  return randomInt(1, maxId + 1);
}

export function newSecret(type: SecuredTokenType): string {
  return type === 'TIMED_OTP'
    ? String(randomInt(1_000_000)).padStart(6, '0')
    : prefix + randomBytes(32).toString('base64url');
}

export function readSecret(token: string): { type: SecuredTokenType; secret: string } {
  const secret = token.length <= maxLength ? normalizeText(token) : '';
  return { type: secret.startsWith(prefix) ? 'SECURED_TOKEN' : 'TIMED_OTP', secret };
}

/** Hashes a secret. One SHA-256 is enough for 256 random bits; a six-digit code needs a key that is not in the database. */
export async function secretHash(
  keys: IdentityKeys,
  { type, id, secret }: { type: SecuredTokenType; id: number; secret: string },
): Promise<Buffer> {
  if (type === 'SECURED_TOKEN') return createHash('sha256').update(secret).digest();
  return keys.hmac('one-time-code', JSON.stringify([id, secret]));
}

export function idOf({ id }: ValidateSecuredTokenInput): number | undefined {
  if (id == null) return undefined;
  return Number.isInteger(id) && id > 0 && id <= maxId ? id : 0;
}

/** Returns the same error for wrong, locked, expired and unknown tokens, and for tokens of another purpose. */
export function invalidToken() {
  return badRequest('The code or link is not valid');
}
