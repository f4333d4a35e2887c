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

test('look-alike letters are refused rather than converted', (t) => {
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

test('a domain with URL syntax is refused rather than cut or decoded', (t) => {
  for (const domain of ['müller.example', 'muller.example', 'xn--mller-kva.example']) {
    for (const rest of [
      '/x.y',
      '#.attacker.com',
      '?a=b.c',
      '\\foo.bar',
      ':80',
      ':80.x',
      '%41.de',
      '\t.de',
      '|.de',
      '!.de',
    ]) {
      const email = `info@${domain}${rest}`;
      t.is(normalEmail(email), email, 'no other address');
      t.false(isEmail(normalEmail(email)), email);
    }
  }
  t.true(isEmail(normalEmail('a/b?c#d%e@müller.example')), 'a local part may have them');
});

test('a domain that cannot be converted from or to its xn-- form is refused', (t) => {
  for (const domain of [
    'xn--.de',
    'xn--a.example',
    'xn--0.pt',
    'xn--ü.de',
    'xn--bcher-kva.xn--.de',
    'xn---foo.de', // decodes to text that has another `xn--` form
    'müller.1', // the last label would make this an IPv4 address
    'mü\u200cller.de', // a joiner between letters that do not join
  ]) {
    t.false(isEmail(normalEmail(`a@${domain}`)), domain);
  }
  for (const domain of ['xn--ls8h.la', 'foo.xn--mgbaam7a8h', 'a_b.example', 'ab--c.example'])
    t.true(isEmail(normalEmail(`a@${domain}`)), domain);
});

test('normalizing a normal form changes nothing', (t) => {
  for (const domain of [
    'MÜLLER.example',
    'xn---foo.de',
    'xn--bcher-kva.xn--.de',
    'xn--ls8h.la',
    'mü\u00adller.de',
    'ü#.de',
  ]) {
    const normal = normalEmail(`a@${domain}`);
    t.is(normalEmail(normal), normal, domain);
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
