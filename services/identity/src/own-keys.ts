import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { SecretBox } from '@parley/kernel/secret-box';
import type { Part } from '@parley/kernel/unit';
import type { Database } from '@parley/postgres/database/types';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { signingKeyStore } from './signing-key-store.ts';

export interface SigningKey {
  kid: string;
  key: CryptoKey;
}

/** What identity's derived keys are for. */
export type KeyPurpose = 'refresh-successor' | 'id-no-index';

/** The keys that identity makes for itself and keeps sealed in its database, the same ones for all replicas. */
export interface OwnKeys extends Part {
  /** The key that new access tokens are signed with. */
  signingKey(): Promise<SigningKey>;
  /** HMAC-SHA-256 under a key that rotating `SECRETS_KEYS` does not change. */
  hmac(purpose: KeyPurpose, data: string): Promise<Buffer>;
  derivationKey(purpose: KeyPurpose): Promise<Uint8Array>;
  /** Makes a new signing key, which signs half an hour later: once everybody who verifies tokens has read it. Answers its `kid`. */
  rotate(accessTokenTtlS: number): Promise<string>;
}

const algorithm = 'ES256';
/** How long a replica goes on signing with the key that it knows. An old one verifies for longer than that. */
const rememberMs = 30_000;
/**
 * How long a new key is published before it signs. Longer than all caches of the key set together, or tokens under it would be
 * refused: a gateway's (5 min), its answer at `/.well-known/jwks.json` in a proxy or a client (5 min), and what libraries that
 * verify tokens keep by themselves (10 min are usual).
 */
const rotationLeadS = 30 * 60;

export function ownKeys(database: Database, box: SecretBox): OwnKeys {
  let remembered: { signing: Promise<SigningKey>; untilMs: number } | undefined;
  const derived = new Map<KeyPurpose, Promise<Uint8Array>>();

  /** Many replicas may start at once: the first makes the key, the others wait and find it. */
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
    const jwk = JSON.parse(box.open(stored.privateJwkSealed, placeOf(stored.kid)).toString()) as JWK;
    return { kid: stored.kid, key: (await importJWK(jwk, algorithm)) as CryptoKey };
  }

  function signingKey(): Promise<SigningKey> {
    if (remembered && performance.now() < remembered.untilMs) return remembered.signing;
    const signing = read();
    const entry = { signing, untilMs: performance.now() + rememberMs };
    remembered = entry;
    signing.catch(() => {
      if (remembered === entry) remembered = undefined;
    });
    return signing;
  }

  function derivationKey(purpose: KeyPurpose): Promise<Uint8Array> {
    const place = `identity.derivation_keys:${purpose}`;
    let key = derived.get(purpose);
    if (!key) {
      const proposed = box.seal(randomBytes(32), place);
      key = database
        .transactShared((db) => signingKeyStore(db).derivationKey(purpose, proposed))
        .then((sealed) => box.open(sealed, place));
      derived.set(purpose, key);
      key.catch(() => derived.delete(purpose));
    }
    return key;
  }

  return {
    name: 'identity keys',
    signingKey,
    derivationKey,
    async hmac(purpose, data) {
      return createHmac('sha256', await derivationKey(purpose))
        .update(data)
        .digest();
    },
    async rotate(accessTokenTtlS) {
      const fresh = await newSigningKey(box);
      await database.transactShared(async (db) => {
        const store = signingKeyStore(db);
        await store.lock();
        await store.insert({ ...fresh, signsInS: rotationLeadS });
        await store.retireOthers(fresh.kid, rotationLeadS + rememberMs / 1000 + accessTokenTtlS);
      });
      return fresh.kid;
    },
    /** A ring of `SECRETS_KEYS` that cannot open them stops the start. */
    async start() {
      await signingKey();
      await derivationKey('refresh-successor');
      await derivationKey('id-no-index');
    },
    async stop() {
      remembered = undefined;
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
    privateJwkSealed: box.seal(JSON.stringify(await exportJWK(pair.privateKey)), placeOf(kid)),
  };
}

function placeOf(kid: string): string {
  return `identity.signing_keys.private_jwk:${kid}`;
}
