import test from 'ava';
import { readProviderPerson } from './provider-person.ts';

const whole = {
  subject: 'sub-1',
  email: 'ada@example.test',
  emailVerified: true,
  fullname: 'Ada Lovelace',
  company: { id: 'c-1', name: 'Acme' },
};

test('a response in the agreed format is parsed', (t) => {
  t.deepEqual(readProviderPerson(whole), whole);
  t.deepEqual(readProviderPerson({ ...whole, more: 1 }), whole);
  t.like(readProviderPerson({ ...whole, subject: 7, company: { id: 8, name: 'Acme' } }), {
    subject: '7',
    company: { id: '8' },
  });
});

test('the email is normalized as at registration, and null if it could not register', (t) => {
  const emailOf = (email: unknown) => readProviderPerson({ ...whole, email }).email;
  t.is(emailOf('  Ada@Example.TEST '), 'ada@example.test');
  for (const none of [null, undefined, '', 'ada', 'a@b', '"a b"@example.test', 'a@example.test\r\nBcc: b@example.test'])
    t.is(emailOf(none), null, String(none));
});

test('only an emailVerified of true is a verified email', (t) => {
  for (const emailVerified of [false, null, undefined])
    t.false(readProviderPerson({ ...whole, emailVerified }).emailVerified);
  for (const emailVerified of ['true', 1, {}])
    t.throws(() => readProviderPerson({ ...whole, emailVerified }), { message: 'not as agreed: emailVerified' });
});

test("an email whose normal form may be somebody else's is not verified", (t) => {
  t.like(readProviderPerson({ ...whole, email: '\u212aelly@example.test' }), { email: null, emailVerified: false });
  for (const email of ['\ufeffkelly@example.test', 'kelly@example.test\u00a0'])
    t.like(readProviderPerson({ ...whole, email }), { email: 'kelly@example.test', emailVerified: false });
  for (const email of ['\u212bke@example.test', '\u0130rem@example.test', 'νίκοΣ@example.test'])
    t.false(readProviderPerson({ ...whole, email }).emailVerified, email);
  for (const email of [
    ' Kelly@Example.test ',
    'jörg@example.test',
    'JÖRG@example.test',
    'νίκος@example.test',
    'ΣΑΝ@example.test',
    '山田@例え.test',
  ])
    t.true(readProviderPerson({ ...whole, email }).emailVerified, email);
});

test("without a full name, the email's local part is used", (t) => {
  const nameOf = (given: object) => readProviderPerson({ ...whole, ...given }).fullname;
  for (const fullname of [null, undefined, '', ' \t'])
    t.is(nameOf({ fullname, email: 'Ada.L@example.test' }), 'ada.l', JSON.stringify(fullname));
  t.is(nameOf({ fullname: null, email: null }), 'User');
});

test('invalid fields are named in the error, without their values', (t) => {
  const long = 'x'.repeat(10_000);
  const hostile: [path: string, answer: unknown][] = [
    ['all', undefined],
    ['all', null],
    ['all', []],
    ['all', 'text'],
    ['subject', { ...whole, subject: undefined }],
    ...['', ' ', 'nul\0', 'half \ud83d', long, null, true, {}, ['a'], 1.5, Number.NaN].map(
      (subject): [string, unknown] => ['subject', { ...whole, subject }],
    ),
    ...['nul\0@example.test', '\ud83d@example.test', `${long}@example.test`, 7, {}, ['a@example.test']].map(
      (email): [string, unknown] => ['email', { ...whole, email }],
    ),
    ...['nul\0', '\ude00', long, 7, {}].map((fullname): [string, unknown] => ['fullname', { ...whole, fullname }]),
    ...['Acme', 7, [], {}].map((company): [string, unknown] => ['company', { ...whole, company }]),
    ...['', 'nul\0', '\ud83d', long, null].map((id): [string, unknown] => [
      'company.id',
      { ...whole, company: { id, name: 'Acme' } },
    ]),
    ...['', 'nul\0', '\ud83d', long, null, 7].map((name): [string, unknown] => [
      'company.name',
      { ...whole, company: { id: 'c-1', name } },
    ]),
  ];
  for (const [path, answer] of hostile) {
    const { message } = t.throws(() => readProviderPerson(answer), undefined, path);
    t.true(message.startsWith(`not as agreed: ${path}`), `${path}: ${message}`);
    t.true(message.length < 80);
  }
});
