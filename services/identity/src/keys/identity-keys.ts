import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { Database, SharedDb } from '@parley/postgres/database/types';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { signingKeyStore } from './signing-key-store.ts';

export interface SigningKey {
  kid: string;
  key: CryptoKey;
}

const keyPurposes = [
  'refresh-successor',
  'id-no-index',
  'contact-index',
  'one-time-code',
  'idempotent-request',
] as const;

export type KeyPurpose = (typeof keyPurposes)[number];

export type IdentityKeys = ReturnType<typeof identityKeys>;

const algorithm = 'ES256';
const signingKeyCacheMs = 30_000;
// How long a new key is published before it signs. The time must exceed the sum of all times for which the key set is cached, or new tokens
// would be refused. The caches are the gateway (5 min), a proxy or client of `/.well-known/jwks.json` (5 min) and a verification library
// (usually 10 min).
const rotationLeadS = 30 * 60;

/** Keys that the identity service creates and stores sealed in its database. All replicas share them. */
export function identityKeys(database: Database, box: SecretBox) {
  let cached: { signing: Promise<SigningKey>; untilMs: number } | undefined;
  const derived = new Map<KeyPurpose, Promise<Uint8Array>>();

  async function read(): Promise<SigningKey> {
    const stored = await database.transactShared(async (db) => {
      const store = signingKeyStore(db);
      const current = await store.findCurrent();
      if (current) return current;
      await store.lock();
      const others = await store.findCurrent();
      if (others) return others;
      const fresh = await newSigningKey(box);
      await store.insert({ ...fresh, signsInS: 0 });
      return fresh;
    });
    const jwk = JSON.parse(box.open(stored.privateJwkSealed, signingKeyPlace(stored.kid)).toString()) as JWK;
    return { kid: stored.kid, key: (await importJWK(jwk, algorithm)) as CryptoKey };
  }

  function signingKey(): Promise<SigningKey> {
    if (cached && performance.now() < cached.untilMs) return cached.signing;
    const signing = read();
    const entry = { signing, untilMs: performance.now() + signingKeyCacheMs };
    cached = entry;
    signing.catch(() => {
      if (cached === entry) cached = undefined;
    });
    return signing;
  }

  function derivationKey(purpose: KeyPurpose): Promise<Uint8Array> {
    const context = derivationKeyPlace(purpose);
    let key = derived.get(purpose);
    if (!key) {
      const proposed = box.seal(randomBytes(32), context);
      key = database
        .transactShared((db) => signingKeyStore(db).derivationKey(purpose, proposed))
        .then((sealed) => box.open(sealed, context));
      derived.set(purpose, key);
      key.catch(() => derived.delete(purpose));
    }
    return key;
  }

  return {
    name: 'identity keys',
    signingKey,
    derivationKey,
    /** HMAC-SHA-256 with a key that stays the same when `SECRETS_KEYS` is rotated. */
    async hmac(purpose: KeyPurpose, data: string): Promise<Buffer> {
      return createHmac('sha256', await derivationKey(purpose))
        .update(data)
        .digest();
    },
    async rotate(db: SharedDb, accessTokenTtlS: number): Promise<string> {
      const fresh = await newSigningKey(box);
      const store = signingKeyStore(db);
      await store.lock();
      await store.insert({ ...fresh, signsInS: rotationLeadS });
      await store.retireOthers(fresh.kid, rotationLeadS + signingKeyCacheMs / 1000 + accessTokenTtlS);
      return fresh.kid;
    },
    /** Reads all keys, so that the start fails if `SECRETS_KEYS` cannot decrypt them. */
    async start(): Promise<void> {
      await signingKey();
      for (const purpose of keyPurposes) await derivationKey(purpose);
    },
    async stop(): Promise<void> {
      cached = undefined;
    },
  };
}

async function newSigningKey(box: SecretBox) {
  const kid = randomUUID();
  const pair = await generateKeyPair(algorithm, { extractable: true });
  const { kty, crv, x, y } = await exportJWK(pair.publicKey);
  return {
    kid,
    publicJwk: { kty, crv, x, y, kid, alg: algorithm, use: 'sig' } as JWK,
    privateJwkSealed: box.seal(JSON.stringify(await exportJWK(pair.privateKey)), signingKeyPlace(kid)),
  };
}

export const signingKeyPlace = (kid: string): string => `identity.signing_keys.private_jwk:${kid}`;
export const derivationKeyPlace = (purpose: string): string => `identity.derivation_keys:${purpose}`;
