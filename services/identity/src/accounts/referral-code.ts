import { randomInt } from 'node:crypto';

/** The alphabet lacks 0, 1, I and O, which are easily confused. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
const length = 8;

export function newReferralCode(): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

export function normalReferralCode(code: string): string {
  return code.trim().toUpperCase();
}
