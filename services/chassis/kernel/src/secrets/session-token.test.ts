import { createHmac, randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { DomainError } from '../errors.ts';
import type { KeyRing, RingKey } from './key-ring.ts';
import { createSessionTokens, type TokenAudience, type TokenSubject } from './session-token.ts';

const hourMs = 3_600_000;
const graceMs = 600_000;
const start = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const subject: TokenSubject = {
  audience: 'session',
  tenantId: 7,
  sessionId: 42,
  avatarBackendConfig: { vendorAvatarId: 'vera-été', vendorAvatarModel: 'v2' },
};

function newKey(id: string): RingKey {
  return { id, key: randomBytes(32) };
}

function tokensOf(ring: KeyRing = [newKey('k1')]) {
  const time = { now: start };
  return { ...createSessionTokens(ring, { clock: () => new Date(time.now) }), time, ring };
}

/** Signs any `payload` as our tokens are signed. */
function forge(key: RingKey, payload: unknown): string {
  return signedWith(key, Buffer.from(JSON.stringify(payload)).toString('base64url'));
}

function signedWith({ id, key }: RingKey, payload: string): string {
  const signed = `pst1.${id}.${payload}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

/** Asserts a refusal. All refusals have the same message and form, and no cause. */
function isRefused(t: ExecutionContext, verify: () => unknown, what: string): void {
  const error = t.throws(verify, { instanceOf: DomainError }, what);
  const { kind, message, reason, fields, cause } = error ?? {};
  t.deepEqual(
    { kind, message, reason, fields, cause },
    {
      kind: 'unauthenticated',
      message: 'Invalid or expired avatar token',
      reason: undefined,
      fields: [],
      cause: undefined,
    },
    what,
  );
}

test('a verified token has the claims it was minted with', (t) => {
  const { mint, verify } = tokensOf();
  const { token, expiresAt, expiresInMs } = mint(subject);

  t.regex(token, /^pst1\.k1\.[\w-]+\.[\w-]{43}$/);
  t.is(expiresInMs, hourMs);
  const { tokenId, ...claims } = verify(token, 'session');
  t.deepEqual(claims, { ...subject, issuedAt: new Date(start), expiresAt });
  t.is(expiresAt.getTime(), start + hourMs);
  t.not(verify(mint(subject).token, 'session').tokenId, tokenId);
});

test('a token is refused for another audience, and has its own where both are accepted', (t) => {
  const { mint, verify } = tokensOf();
  const session = mint({ audience: 'session', tenantId: 1, sessionId: 2 }).token;
  const voice = mint({ audience: 'voice', tenantId: 1 }).token;

  isRefused(t, () => verify(session, 'voice'), 'session for voice');
  isRefused(t, () => verify(voice, 'session'), 'voice for session');
  const both: readonly TokenAudience[] = ['session', 'voice'];
  t.like(verify(session, both), { audience: 'session', sessionId: 2 });
  t.like(verify(voice, both), { audience: 'voice', tenantId: 1 });
  t.false('avatarBackendConfig' in verify(session, 'session'));
});

test('every flipped bit is detected, before the expiry and within the grace', (t) => {
  const { mint, verify } = tokensOf();
  const bytes = Buffer.from(mint(subject).token, 'latin1');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    isRefused(t, () => verify(changed.toString('latin1'), 'session', { graceMs }), `bit ${bit}`);
  }
});

test('every other character in every place is detected, the unused bits of the last one included', (t) => {
  const { mint, verify } = tokensOf();
  const { token } = mint({ audience: 'voice', tenantId: 1 });
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+/= \0';
  for (let place = 0; place < token.length; place += 1) {
    for (const letter of alphabet.replace(token.charAt(place), '')) {
      const changed = token.slice(0, place) + letter + token.slice(place + 1);
      isRefused(t, () => verify(changed, 'voice'), `${letter} at ${place}`);
    }
  }
});

test('removed, added and moved parts are detected', (t) => {
  const { mint, verify } = tokensOf();
  const { token } = mint(subject);
  const [prefix, keyId, payload, mac] = token.split('.');
  for (let length = 0; length < token.length; length += 1) {
    isRefused(t, () => verify(token.slice(0, length), 'session'), `first ${length}`);
    isRefused(t, () => verify(token.slice(length + 1), 'session'), `without first ${length + 1}`);
  }
  const rearranged = [
    ...['A', '=', '.', ' ', '\n', '\0', '.pst1', 'ā', '\ud800'].flatMap((more) => [token + more, more + token]),
    [prefix, keyId, payload, mac, mac].join('.'),
    [prefix, keyId, payload, `${mac}=`].join('.'),
    [prefix, keyId, payload, `${mac}AAAA`].join('.'),
    [prefix, keyId, payload, mac?.replace(/.$/, '')].join('.'),
    [prefix, keyId, mac, payload].join('.'),
    [prefix, keyId, payload, ''].join('.'),
    [prefix, '', payload, mac].join('.'),
    [prefix?.toUpperCase(), keyId, payload, mac].join('.'),
    [prefix, keyId?.toUpperCase(), payload, mac].join('.'),
    ['', keyId, payload, mac].join('.'),
    `Bearer ${token}`,
    '...',
    'pst1...',
    '.'.repeat(4_096),
  ];
  for (const changed of rearranged) isRefused(t, () => verify(changed, 'session'), JSON.stringify(changed));
  for (const none of [null, undefined, '']) isRefused(t, () => verify(none, 'session'), String(none));
});

test('the payload of one token is refused with the MAC of another', (t) => {
  const { mint, verify } = tokensOf();
  const [mine, theirs] = [mint(subject), mint({ ...subject, tenantId: 8 })].map(({ token }) => token.split('.'));
  isRefused(t, () => verify([...(theirs ?? []).slice(0, 3), mine?.[3]].join('.'), 'session'), 'swapped');
});

test('tokens of another key are refused, even if it has the same name', (t) => {
  const mine = tokensOf([newKey('k1')]);
  isRefused(t, () => mine.verify(tokensOf([newKey('k1')]).mint(subject).token, 'session'), 'the same name');
  isRefused(t, () => mine.verify(tokensOf([newKey('k2')]).mint(subject).token, 'session'), 'another name');
  const [, ...rest] = mine.mint(subject).token.split('.');
  for (const id of ['toString', 'constructor', '__proto__', '0']) {
    isRefused(t, () => mine.verify(['pst1', id, ...rest.slice(1)].join('.'), 'session'), id);
  }
});

test('an old key of the ring verifies and does not mint', (t) => {
  const [older, newer] = [newKey('k1'), newKey('k2')];
  const { token } = tokensOf([older]).mint(subject);
  const rotated = tokensOf([newer, older]);

  t.like(rotated.verify(token, 'session'), subject);
  t.regex(rotated.mint(subject).token, /^pst1\.k2\./);
  isRefused(t, () => tokensOf([newer]).verify(token, 'session'), 'dropped');
  const renamed = tokensOf([{ ...older, id: 'k2' }]);
  isRefused(t, () => renamed.verify(token, 'session'), 'under another name');
  isRefused(t, () => renamed.verify(token.replace('.k1.', '.k2.'), 'session'), 'with the name changed');
});

test('a token expires after an hour to the millisecond, and so does its grace', (t) => {
  const { mint, verify, time } = tokensOf();
  const { token } = mint(subject);
  const goodAt = (now: number, grace?: number) => {
    time.now = now;
    const options = grace === undefined ? {} : { graceMs: grace };
    try {
      return verify(token, 'session', options).audience === 'session';
    } catch {
      return false;
    }
  };

  t.true(goodAt(start));
  t.true(goodAt(start + hourMs - 1));
  t.false(goodAt(start + hourMs));
  t.false(goodAt(start + hourMs, 0));
  t.true(goodAt(start + hourMs, 1));
  t.true(goodAt(start + hourMs + graceMs - 1, graceMs));
  t.false(goodAt(start + hourMs + graceMs, graceMs));
  t.false(goodAt(start, Number.NaN));
  time.now = start + hourMs;
  isRefused(t, () => verify(token, 'session'), 'expired');
});

test('the grace extends the expiry and nothing else', (t) => {
  const { mint, verify, time } = tokensOf();
  const { token } = mint(subject);
  time.now = start + hourMs + 1;
  t.like(verify(token, 'session', { graceMs }), subject);
  isRefused(t, () => verify(token, 'voice', { graceMs }), 'audience');
  isRefused(t, () => verify(tokensOf().mint(subject).token, 'session', { graceMs }), 'foreign key');
});

test('a payload of another shape is refused though its MAC is right', (t) => {
  const key = newKey('k1');
  const { verify } = tokensOf([key]);
  const good = { aud: 'session', tenantId: 7, sessionId: 42, iat: start, exp: start + hourMs, jti: 'x' };
  t.like(verify(forge(key, good), 'session'), { tenantId: 7, sessionId: 42 });

  const { exp: _exp, ...endless } = good;
  const { sessionId: _sessionId, ...unbound } = good;
  const ofVoice = { ...unbound, aud: 'voice' };
  t.like(verify(forge(key, { ...ofVoice, ip: '203.0.113.1' }), 'voice'), { clientIp: '203.0.113.1' });
  const hostile: unknown[] = [
    null,
    1,
    'session',
    [],
    [good],
    {},
    endless,
    unbound,
    { ...good, aud: ['session', 'voice'] },
    { ...good, aud: 'admin' },
    { ...good, tenantId: '7' },
    { ...good, tenantId: null },
    { ...good, tenantId: 0 },
    { ...good, tenantId: -1 },
    { ...good, tenantId: 2 ** 31 },
    { ...good, sessionId: 1.5 },
    { ...good, exp: String(start + hourMs) },
    { ...good, exp: null },
    { ...good, exp: 1e300 },
    { ...good, exp: 8_640_000_000_000_001 },
    { ...good, jti: '' },
    { ...good, jti: 'x'.repeat(65) },
    { ...good, kind: 'operator' },
    { ...good, avatar: 'vera' },
    { ...good, avatar: { vendorAvatarId: 'a' } },
    { ...good, aud: 'voice' },
    { ...good, ip: '203.0.113.1' },
    { ...ofVoice, ip: '' },
    { ...ofVoice, ip: 7 },
    { ...ofVoice, ip: 'x'.repeat(65) },
  ];
  for (const payload of hostile) {
    isRefused(t, () => verify(forge(key, payload), ['session', 'voice']), JSON.stringify(payload));
  }
});

test('a payload in another encoding is refused though its MAC is right', (t) => {
  const key = newKey('k1');
  const { verify } = tokensOf([key]);
  const payload = { aud: 'voice', tenantId: 7, iat: start, exp: start + hourMs, jti: 'xy' };
  const text = JSON.stringify(payload);
  const encoded = Buffer.from(text).toString('base64url');
  t.is(text.length % 3, 1); // so that the last base64url character has unused bits
  t.like(verify(signedWith(key, encoded), 'voice'), { tenantId: 7 });

  const jtiOfBytes = Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.of(0xff), Buffer.from('"}')]);
  const spellings = {
    padded: `${encoded}=`,
    'with a space': `${encoded.slice(0, 8)} ${encoded.slice(8)}`,
    'with its spare bits set': encoded.replace(/.$/, (last) => ({ A: 'B', Q: 'R', g: 'h', w: 'x' })[last] ?? ''),
    'base64 of bytes that are no UTF-8': jtiOfBytes.toString('base64url'),
    'UTF-16': Buffer.from(text, 'utf16le').toString('base64url'),
    'cut JSON': Buffer.from(text.slice(0, -1)).toString('base64url'),
    'two JSON values': Buffer.from(text + text).toString('base64url'),
    plain: text,
    empty: '',
    'by its prototype': Buffer.from(`{"__proto__":${text}}`).toString('base64url'),
  };
  for (const [what, spelling] of Object.entries(spellings)) {
    isRefused(t, () => verify(signedWith(key, spelling), 'voice'), what);
  }
});

test('the longest subject fits, and a longer token is refused before parsing and never minted', (t) => {
  const key = newKey('k'.repeat(32));
  const { mint, verify } = tokensOf([key]);
  const controls = '\u0001'.repeat(200); // each character becomes six in JSON, the maximum
  const largest: TokenSubject = {
    audience: 'session',
    tenantId: 2 ** 31 - 1,
    sessionId: 2 ** 31 - 1,
    avatarBackendConfig: { vendorAvatarId: controls, vendorAvatarModel: controls },
  };
  t.like(verify(mint(largest).token, 'session'), largest);

  const tooLong = { vendorAvatarId: 'v'.repeat(4_000), vendorAvatarModel: 'm' };
  t.throws(() => mint({ ...largest, avatarBackendConfig: tooLong }), { instanceOf: RangeError });
  const payload = { aud: 'session', tenantId: 1, sessionId: 1, iat: start, exp: start + 1, jti: 'x', avatar: tooLong };
  isRefused(t, () => verify(forge(key, payload), 'session'), 'right mac, too long');
});

test('an invalid subject is not minted', (t) => {
  const { mint } = tokensOf();
  for (const sessionId of [0, -1, 1.5, 2 ** 31, Number.NaN]) {
    t.throws(() => mint({ audience: 'session', tenantId: 1, sessionId }), undefined, `${sessionId}`);
  }
});
