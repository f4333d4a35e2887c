import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefix = 'sk_';
/** 32 bytes never need more than 43 digits in base 62, nor a CRC-32 more than 6. */
const secretLength = 43;
const checksumLength = 6;

/** `sk_`, 32 random bytes in base62, and a checksum by which a scanner tells a key from chance. */
export function newApiKey(): string {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength);
  return body + base62(BigInt(crc32(body)), checksumLength);
}

/** What is stored of a key. It has 256 random bits, so nothing slower than one SHA-256 is needed. */
export function apiKeySha256(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function base62(value: bigint, length: number): string {
  let digits = '';
  for (let left = value; left > 0n; left /= 62n) digits = (alphabet[Number(left % 62n)] ?? '') + digits;
  return digits.padStart(length, '0');
}
