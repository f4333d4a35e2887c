import { isUtf8 } from 'node:buffer';
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type DomainError, unauthenticated } from '../errors.ts';
import { parseJson } from '../json.ts';
import type { KeyRing } from './key-ring.ts';

/** The prefix of every token, which distinguishes it from an access token before anything is verified. */
export const sessionTokenPrefix = 'pst1.';

/** `session`: one embedded session. `voice`: speech for a tenant. */
export type TokenAudience = 'session' | 'voice';

/** The agent's hosted video avatar, which the holder of the token may open. */
export type AvatarBinding = z.infer<typeof avatarShape>;

/** What a token is bound to, depending on its audience. */
export type TokenSubject =
  | { audience: 'session'; tenantId: number; sessionId: number; avatarBackendConfig?: AvatarBinding | undefined }
  | {
      audience: 'voice';
      tenantId: number;
      /**
       * The client's address when a unit uses the token on a client's behalf. Throttling then applies to this address, not to the unit's.
       */
      clientIp?: string | undefined;
    };

export type TokenClaims<Audience extends TokenAudience = TokenAudience> = Extract<
  TokenSubject,
  { audience: Audience }
> & {
  tokenId: string;
  issuedAt: Date;
  /** The moment at which the token expires. */
  expiresAt: Date;
};

export type SessionTokens = ReturnType<typeof createSessionTokens>;

export interface SessionTokenOptions {
  clock?: () => Date;
  /** How long a token is valid, in ms. Default 1 h. */
  lifetimeMs?: number;
}

/** Longer tokens are refused before parsing. The largest subject gives about 3,600 characters. */
const maxTokenLength = 4_096;
const macBytes = 32;

/**
 * Session and voice tokens: `pst1.<key id>.<payload>.<mac>`. The payload is JSON in base64url; the MAC is HMAC-SHA256 over everything
 * before it. Not a JWT, so that a token cannot choose its algorithm.
 */
export function createSessionTokens(ring: KeyRing, options: SessionTokenOptions = {}) {
  const { clock = () => new Date(), lifetimeMs = 60 * 60 * 1_000 } = options;
  const keys = new Map(ring.map(({ id, key }) => [id, key]));

  return {
    /** Makes a token that is valid for `lifetimeMs`, signed with the first key of the ring. */
    mint(subject: TokenSubject) {
      const iat = clock().getTime();
      const exp = iat + lifetimeMs;
      const payload = payloadShape.parse({ ...toPayload(subject), iat, exp, jti: randomUUID() });
      const [{ id, key }] = ring;
      const signed = `${sessionTokenPrefix}${id}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}`;
      const token = `${signed}.${macOf(signed, key).toString('base64url')}`;
      if (token.length > maxTokenLength) throw new RangeError(`A session token would have ${token.length} characters`);
      return { token, expiresAt: new Date(exp), expiresInMs: lifetimeMs };
    },

    /**
     * Returns the claims of the token. `graceMs` extends its expiry only; default 0. If several audiences are accepted, the claims have the
     * audience of the token.
     * @throws DomainError `unauthenticated`; the error is the same for every reason.
     */
    verify<Audience extends TokenAudience>(
      token: string | null | undefined,
      audience: Audience | readonly Audience[],
      { graceMs = 0 }: { graceMs?: number } = {},
    ): TokenClaims<Audience> {
      const claims = toClaims(readPayload(authentic(token, keys)));
      const accepted: readonly TokenAudience[] = [audience].flat();
      if (!accepted.includes(claims.audience)) throw refused();
      // The comparison is negated, so that NaN is refused too.
      if (!(clock().getTime() < claims.expiresAt.getTime() + graceMs)) throw refused();
      return claims as TokenClaims<Audience>;
    },
  };
}

/** One error for all reasons, so that it does not reveal which check a forged token passed. */
function refused(): DomainError {
  return unauthenticated('Invalid or expired avatar token');
}

function macOf(signed: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(signed).digest();
}

/**
 * Returns the encoded payload of a token. @throws DomainError `unauthenticated` if the token is malformed, its key is unknown or its MAC is
 * wrong
 */
function authentic(token: string | null | undefined, keys: ReadonlyMap<string, Uint8Array>): string {
  if (!token || token.length > maxTokenLength || !token.startsWith(sessionTokenPrefix)) throw refused();
  const [, keyId = '', payload = '', mac = '', ...more] = token.split('.');
  const key = keys.get(keyId);
  const given = decode(mac);
  if (!key || more.length > 0 || given?.length !== macBytes) throw refused();
  if (!timingSafeEqual(given, macOf(token.slice(0, -mac.length - 1), key))) throw refused();
  return payload;
}

/** Returns the decoded bytes; undefined if the text is not their canonical base64url, so that each token has one spelling. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

const id = z.int().min(1).max(2_147_483_647);
const timestamp = z.int().min(0).max(8_640_000_000_000_000);
const avatarShape = z.strictObject({ vendorAvatarId: z.string(), vendorAvatarModel: z.string() });
const commonClaims = { tenantId: id, iat: timestamp, exp: timestamp, jti: z.string().min(1).max(64) };

/** `iat` and `exp` are milliseconds since 1970, so that a token ends exactly after `expiresInMs`. */
const payloadShape = z.discriminatedUnion('aud', [
  z.strictObject({
    aud: z.literal('session'),
    ...commonClaims,
    sessionId: id,
    avatar: avatarShape.optional(),
  }),
  z.strictObject({ aud: z.literal('voice'), ...commonClaims, ip: z.string().min(1).max(64).optional() }),
]);
type Payload = z.infer<typeof payloadShape>;

/** The payload is validated although it is signed: the signer may be of another version, or the key may have leaked. */
function readPayload(encoded: string): Payload {
  const bytes = decode(encoded);
  if (!bytes || !isUtf8(bytes)) throw refused();
  const { success, data } = payloadShape.safeParse(parseJson(bytes.toString()));
  if (!success) throw refused();
  return data;
}

function toPayload(subject: TokenSubject): object {
  const { audience: aud, tenantId } = subject;
  if (subject.audience === 'voice') {
    const { clientIp: ip } = subject;
    return { aud, tenantId, ...(ip !== undefined && { ip }) };
  }
  const { sessionId, avatarBackendConfig: avatar } = subject;
  return { aud, tenantId, sessionId, ...(avatar && { avatar }) };
}

function toClaims(payload: Payload): TokenClaims {
  const { tenantId, jti: tokenId } = payload;
  const times = { issuedAt: new Date(payload.iat), expiresAt: new Date(payload.exp) };
  if (payload.aud === 'voice') {
    const { ip: clientIp } = payload;
    return { audience: 'voice', tenantId, ...(clientIp !== undefined && { clientIp }), tokenId, ...times };
  }
  const { sessionId, avatar } = payload;
  return {
    audience: 'session',
    tenantId,
    sessionId,
    ...(avatar && { avatarBackendConfig: avatar }),
    tokenId,
    ...times,
  };
}
