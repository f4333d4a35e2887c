import { crc32 } from 'node:zlib';
import test from 'ava';
import { newApiKey } from './api-key.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const valueOf = (digits: string) => [...digits].reduce((sum, digit) => sum * 62n + BigInt(alphabet.indexOf(digit)), 0n);

test('a key is sk_, 256 random bits in base62 and the CRC-32 of all before it', (t) => {
  const keys = new Set(Array.from({ length: 500 }, newApiKey));
  t.is(keys.size, 500);
  for (const key of keys) {
    t.regex(key, /^sk_[0-9A-Za-z]{49}$/);
    t.true(valueOf(key.slice(3, 46)) < 2n ** 256n);
    t.is(valueOf(key.slice(46)), BigInt(crc32(key.slice(0, 46))));
  }
});
