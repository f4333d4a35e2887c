import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefix = 'sk_';
/** 32 bytes need at most 43 digits in base 62, a CRC-32 at most 6. */
const secretLength = 43;
const checksumLength = 6;

/** `sk_`, 32 random bytes in base62, and a checksum by which secret scanners recognize keys. */
export function newApiKey(): string {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength);
  return body + base62(BigInt(crc32(body)), checksumLength);
}

/** Hashes a key. One SHA-256 is enough, because the key has 256 random bits. */
export function apiKeySha256(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function base62(value: bigint, length: number): string {
  let digits = '';
  for (let remaining = value; remaining > 0n; remaining /= 62n)
    digits = (alphabet[Number(remaining % 62n)] ?? '') + digits;
  return digits.padStart(length, '0');
}
