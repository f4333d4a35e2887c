import test from 'ava';
import { isEmail, normalEmail } from './email-address.ts';

test('emails compare trimmed and lower-cased', (t) => {
  t.is(normalEmail('  Ada.L+x@Example.TEST\n'), 'ada.l+x@example.test');
});

test('what a mail server could deliver to is an email', (t) => {
  for (const email of ["o'brien+tag@example.co.uk", 'a@b.test', 'jörg@bücher.test', '1@2.3'])
    t.true(isEmail(email), email);
});

test('what could end an address in a header, or has no domain, is none', (t) => {
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
