import { randomInt } from 'node:crypto';

/** Base32 without 0, 1, I and O, which people mistake for one another. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
const length = 8;

/** A code that another user can type when they register. */
export function newReferralCode(): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** A referral code as it is looked up, however it was typed. */
export function normalReferralCode(code: string): string {
  return code.trim().toUpperCase();
}
