import test from 'ava';
import { newSecret, otpauthUri, stepOf } from './time-based-code.ts';

/** `12345678901234567890` in base32: the key of the test vectors in RFC 6238. */
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

test('codes are those of RFC 6238, also with spaces as apps show them', (t) => {
  for (const [seconds, code, step] of [
    [59, '287082', 1],
    [1_111_111_109, '081804', 37_037_036],
    [1_234_567_890, '005924', 41_152_263],
    [20_000_000_000, '353130', 666_666_666],
  ] as const) {
    t.is(stepOf(rfcSecret, code, new Date(seconds * 1000)), step);
    t.is(stepOf(rfcSecret, ` ${code.slice(0, 3)} ${code.slice(3)}\n`, new Date(seconds * 1000)), step);
  }
});

test('a code is valid for its time step, the previous one and the next one, to the second', (t) => {
  const accepted = (seconds: number) => stepOf(rfcSecret, '081804', new Date(seconds * 1000)) !== undefined;
  const start = 37_037_036 * 30;
  t.deepEqual([start - 31, start - 30, start + 59, start + 60].map(accepted), [false, true, true, false]);
});

test('a code that is not six ASCII digits is wrong', (t) => {
  for (const code of ['', ' ', '28708', '2870822', '28708a', '２８７０８２', '-87082', '1e5000', '\u202e287082']) {
    t.is(stepOf(rfcSecret, code, new Date(59_000)), undefined, code);
  }
});

test('secrets are 160 random bits in base32', (t) => {
  const secrets = new Set(Array.from({ length: 100 }, newSecret));
  t.is(secrets.size, 100);
  for (const secret of secrets) t.regex(secret, /^[A-Z2-7]{32}$/u);
});

test('the otpauth URI names issuer, account and parameters; a colon separates nothing but these two', (t) => {
  for (const account of ['ada+test@example.test', 'Ada Lovelace', 'Zoë & Söhne/Ltd?#%', 'ada: the first']) {
    const uri = new URL(otpauthUri(rfcSecret, account));
    t.is(`${uri.protocol}${uri.host}`, 'otpauth:totp');
    t.is(decodeURIComponent(uri.pathname), `/Parley:${account.replace(':', ' ')}`);
    const parameters = { secret: rfcSecret, issuer: 'Parley', algorithm: 'SHA1', digits: '6', period: '30' };
    t.deepEqual(Object.fromEntries(uri.searchParams), parameters);
  }
});
