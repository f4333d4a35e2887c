import { z } from 'zod';

export interface RingKey {
  id: string;
  key: Buffer;
}

/** The first key signs or encrypts; all of them verify or decrypt. */
export type KeyRing = readonly [RingKey, ...RingKey[]];

const entryShape = /^(?:(?<id>[\w.-]+):)?(?<key>[A-Za-z0-9+/_-]+={0,2})$/;
const idShape = /^[\w-]{1,32}$/;
const minimumKeyBytes = 32;

/** A setting: keys of at least 32 bytes in base64, separated by commas, each optionally as `name:key`. */
export const ringEntries = z
  .string()
  .refine(
    (value) => value.split(',').every((entry) => entryShape.test(entry.trim())),
    'each key must be base64, or name:base64',
  )
  .transform((value) => value.split(',').map(readEntry))
  .refine(
    (entries) => entries.every(({ key }) => key.length >= minimumKeyBytes),
    `each key must be at least ${minimumKeyBytes} bytes in base64`,
  )
  .meta({ title: 'keys' });

/**
 * `k2:…,k1:…`: a ring whose keys have names of up to 32 letters, digits, `-` and `_`. To rotate, put a new key first and remove
 * an old one when nothing signed or encrypted with it is in use. Never reuse a name.
 */
export const keyRing = ringEntries
  .refine(
    (entries) => entries.every(({ id }) => id !== undefined && idShape.test(id)),
    'each key must have a name before it, as in k1:base64, of up to 32 letters, digits, - and _',
  )
  .refine((entries) => new Set(entries.map(({ id }) => id)).size === entries.length, 'two keys have the same name')
  .transform((entries, context): KeyRing => {
    const [first, ...others] = entries.map(({ id = '', key }) => ({ id, key }));
    if (first) return [first, ...others];
    context.addIssue('holds no key');
    return z.NEVER;
  });

function readEntry(entry: string): { id: string | undefined; key: Buffer } {
  const { id, key = '' } = entryShape.exec(entry.trim())?.groups ?? {};
  return { id, key: Buffer.from(key, 'base64') };
}
