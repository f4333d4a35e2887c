import { randomBytes } from 'node:crypto';
import test from 'ava';
import { readSettings, SettingsError } from '../settings/config.ts';
import { setting } from '../settings/settings.ts';
import { keyRing } from './key-ring.ts';

const [one, two] = [randomBytes(32), randomBytes(48)] as const;
const [first, second] = [one.toString('base64'), two.toString('base64url')] as const;

test('a ring keeps its order, and each key its name', (t) => {
  t.deepEqual(keyRing.parse(`k2:${first}, k_1-a:${second}`), [
    { id: 'k2', key: one },
    { id: 'k_1-a', key: two },
  ]);
});

test('an invalid ring is refused with a message that contains no key', (t) => {
  const wrong: Record<string, RegExp> = {
    [first]: /must have a name/,
    [`k1:${first},${second}`]: /must have a name/,
    [`k.1:${first}`]: /must have a name/,
    [`${'k'.repeat(33)}:${first}`]: /must have a name/,
    [`k1:${first},k1:${second}`]: /the same name/,
    [`k1:${randomBytes(31).toString('base64')}`]: /at least 32 bytes/,
    [`k1:${first},`]: /name:base64/,
    [`k1:${first}!`]: /name:base64/,
    [`:${first}`]: /name:base64/,
    'k1:': /name:base64/,
  };
  const declared = { ring: setting('RING', keyRing, '') };
  for (const [value, reason] of Object.entries(wrong)) {
    const error = t.throws(() => readSettings({ RING: value }, declared), { instanceOf: SettingsError });
    t.regex(error?.message ?? '', reason);
    t.is(error?.problems.length, 1);
    t.notRegex(error?.message ?? '', new RegExp(first.slice(0, 8).replaceAll('+', '\\+')));
  }
  t.throws(() => readSettings({}, declared), { message: /RING: is missing/ });
});
