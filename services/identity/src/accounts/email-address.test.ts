import test from 'ava';
import { isEmail, normalEmail } from './email-address.ts';

test('emails are trimmed and lower-cased', (t) => {
  t.is(normalEmail('  Ada.L+x@Example.TEST\n'), 'ada.l+x@example.test');
});

test('all spellings of a mailbox have one form', (t) => {
  for (const [one, other] of [
    ['info@müller.example', 'info@xn--mller-kva.example'],
    ['info@müller.example', 'Info@MU\u0308LLER.example'],
    ['jörg@example.com', 'jo\u0308rg@example.com'],
    ['a@faß.example', 'a@xn--fa-hia.example'],
    ['a@例え.test', 'a@XN--R8JZ45G.test'],
    ['a@example.com.test', 'a@example\u3002com.test'], // an ideographic full stop is a dot to IDNA
    ['한국@example.com', '한국'.normalize('NFD') + '@example.com'],
  ] as const) {
    t.is(normalEmail(one), normalEmail(other), other);
    t.true(isEmail(normalEmail(other)), other);
  }
  t.is(normalEmail('info@xn--mller-kva.example'), 'info@müller.example');
  t.is(normalEmail('a@faß.example') === normalEmail('a@fass.example'), false, 'two domains since IDNA 2008');
});

test('letters that only look like others are refused rather than taken for them', (t) => {
  for (const email of [
    'ａｄａ@example.com', // full width
    '\u212aelvin@example.com', // KELVIN SIGN
    '\u212bke@example.com', // ANGSTROM SIGN
    'o\ufb03ce@example.com', // a ligature
    '\u2460@example.com',
    'ada@ｅxample.com',
  ]) {
    t.false(isEmail(normalEmail(email)), email);
  }
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
