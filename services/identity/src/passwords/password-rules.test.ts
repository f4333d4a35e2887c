import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseInput } from '@parley/kernel/input';
import test from 'ava';
import { z } from 'zod';
import { normalizeText } from '../accounts/normalize-text.ts';
import { isSameAsEmail, newPassword } from './password-rules.ts';

const list = readFileSync(new URL('./common-passwords/list.txt', import.meta.url), 'utf8');
const passwords = list.trimEnd().split('\n');

const change = z.object({ password: newPassword });

/** Returns the error message for a password; undefined if it is accepted. */
function refusalOf(password: string): string | undefined {
  try {
    parseInput(change, { password }, '');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const common = 'password is one of the most common passwords';

test('the list is as its README says: 10,000 distinct normalized passwords of 8 characters and more, sorted', (t) => {
  t.is(
    createHash('sha256').update(list).digest('hex'),
    '3caf061186a86960cdcead930c1a8b871ce68d2795cf241ef6f410e2102e7981',
  );
  t.is(new Set(passwords).size, 10_000);
  t.deepEqual(passwords, passwords.toSorted());
  for (const password of passwords) {
    t.true([...password].length >= 8, password);
    t.is(password, normalizeText(password).toLowerCase());
  }
});

test('a password must have a visible character', (t) => {
  for (const blank of [' '.repeat(8), '\u200b'.repeat(8), ' \u3000\ufeff'.repeat(5)])
    t.is(refusalOf(blank), 'password must not be blank', JSON.stringify(blank));
  t.is(refusalOf(`${' '.repeat(7)}x`), undefined);
});

test('common passwords are refused, also in capitals, full-width letters or surrounded by spaces', (t) => {
  const wide = (text: string) => text.replace(/[!-~]/gu, (each) => String.fromCodePoint(each.charCodeAt(0) + 0xfee0));
  for (const password of passwords) {
    t.is(refusalOf(password), common);
    t.is(refusalOf(password.toUpperCase()), common);
    t.is(refusalOf(wide(password)), common);
    t.is(refusalOf(` ${password} `), common);
  }
});

test('repeated and sequential characters are refused, with digits of any script', (t) => {
  for (const password of '88888888 87654321 987654321 abcdefgh aaaaaaaa 12121212 99999999 ٨٨٨٨٨٨٨٨ १२३४५६७८'.split(' '))
    t.is(refusalOf(password), common, password);
});

test('a password must have 8 to 128 characters', (t) => {
  t.is(refusalOf('correct horse'), undefined);
  t.is(refusalOf('x'.repeat(64) + 'y'.repeat(64)), undefined);
  t.is(refusalOf('xyz 123'), 'password must have at least 8 characters');
  t.is(refusalOf('x'.repeat(65) + 'y'.repeat(64)), 'password must have at most 128 characters');
});

test('a password is compared with the email after normalization', (t) => {
  t.true(isSameAsEmail('ａｄａ@Example.test ', 'ada@example.test'));
  t.false(isSameAsEmail('ada@example.test.', 'ada@example.test'));
});
