import test from 'ava';
import { isEmail, normalEmail } from './email-address.ts';

test('emails are trimmed and lower-cased', (t) => {
  t.is(normalEmail('  Ada.L+x@Example.TEST\n'), 'ada.l+x@example.test');
});

test('valid email addresses are accepted', (t) => {
  for (const email of ["o'brien+tag@example.co.uk", 'a@b.test', 'jörg@bücher.test', '1@2.3'])
    t.true(isEmail(email), email);
});

test('addresses without a domain or with characters of header injection are refused', (t) => {
  for (const email of [
    '',
    '@',
    'a@',
    '@b.test',
    'a@b',
    'a b@c.test',
    'a@b.test\r\nbcc: x@y.test',
    'a@b..test',
    'a@.test',
    'a@b.test.',
    '<a@b.test>',
    'a,b@c.test',
    'a@b@c.test',
    'a\0@b.test',
    `${'a'.repeat(65)}@b.test`,
    `a@${'b'.repeat(250)}.test`,
  ]) {
    t.false(isEmail(email), email);
  }
});
