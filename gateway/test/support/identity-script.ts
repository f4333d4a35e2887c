import { createHash } from 'node:crypto';
import { notFound, unavailable } from '@parley/kernel/errors';
import {
  IdentityServiceDefinition,
  type IdentityServiceImplementation,
  type ResolveApiKeyResponse,
  type ResolveSignInResponse,
} from '@parley/protos/parley/identity/v1/identity';
import type { MeshContext } from '@parley/rpc/server';
import { stubRpc } from '@parley/testing/stub-rpc';
import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { type IdempotencyScript, idempotencyScript } from './idempotency-script.ts';

/** Issuer and audience of access tokens in tests. */
export const publicUrl = 'http://parley.test';

export interface SigningKey {
  kid: string;
  publicJwk: JWK;
  /** Returns an access token; `claims` and `header` replace valid values. */
  token(signInId: string, claims?: Record<string, unknown>, header?: Partial<JWTHeaderParameters>): Promise<string>;
}

export async function signingKey(kid: string): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const publicJwk: JWK = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' };
  return {
    kid,
    publicJwk,
    token(signInId, claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000);
      const right = { iss: publicUrl, aud: publicUrl, sub: '1', sid: signInId, iat: now, exp: now + 900, jti: 'j-1' };
      return new SignJWT({ ...right, ...claims }).setProtectedHeader({ alg: 'ES256', kid, ...header }).sign(privateKey);
    },
  };
}

/** An identity service with scripted responses. */
export interface IdentityScript {
  rpc: IdentityServiceImplementation<MeshContext>;
  key: SigningKey;
  jwks: { keys: JWK[] };
  /** Sign-ins by `sid`. Any other sign-in counts as revoked or unknown. */
  signIns: Map<string, ResolveSignInResponse>;
  /** While true, every call fails as unavailable. */
  away: boolean;
  /** Awaited before each answer about a single sign-in. */
  beforeSignIn: () => Promise<void>;
  /** Awaited before each answer about an API key. */
  beforeApiKey: (isKnown: boolean) => Promise<void>;
  /** Tenants by id. All others exist and are neither suspended nor deleted. */
  tenants: Map<number, { suspended?: boolean; deleted?: boolean } | 'absent'>;
  keys: IdempotencyScript;
  /** Received calls in order: `jwks`, `signIn <sid>`, `signIns <how many>`, `apiKey`, `apiKeys`, `tenant <id>`, `claim <key>`, `end`. */
  asked: string[];
  /** Creates a sign-in and returns its access token. Default: user 1 of tenant 1. */
  signIn(sid: string, facts?: Partial<ResolveSignInResponse>): Promise<string>;
  addApiKey(key: string, facts: ResolveApiKeyResponse): void;
  removeApiKey(key: string): void;
}

export async function identityScript(): Promise<IdentityScript> {
  const key = await signingKey('key-1');
  const apiKeys = new Map<string, ResolveApiKeyResponse>();
  const hashOf = (apiKey: string) => createHash('sha256').update(apiKey).digest('hex');

  function answer(question: string): void {
    script.asked.push(question);
    if (script.away) throw unavailable('identity is away');
  }

  const idempotency = idempotencyScript(answer);
  const script: IdentityScript = {
    key,
    jwks: { keys: [key.publicJwk] },
    signIns: new Map(),
    tenants: new Map(),
    away: false,
    beforeSignIn: async () => undefined,
    beforeApiKey: async () => undefined,
    keys: idempotency.script,
    asked: [],
    async signIn(sid, facts = {}) {
      const person = { userId: 1, displayName: 'Ada', tenantId: 1, tenantSuspended: false };
      script.signIns.set(sid, { ...person, limitedReason: '', userSuspended: false, ...facts });
      return key.token(sid);
    },
    addApiKey: (apiKey, facts) => void apiKeys.set(hashOf(apiKey), facts),
    removeApiKey: (apiKey) => void apiKeys.delete(hashOf(apiKey)),
    rpc: stubRpc(IdentityServiceDefinition, {
      ...idempotency.rpc,
      async getJwks() {
        answer('jwks');
        return { jwksJson: JSON.stringify(script.jwks) };
      },
      async resolveSignIn({ signInId }) {
        answer(`signIn ${signInId}`);
        await script.beforeSignIn();
        const found = script.signIns.get(signInId);
        if (!found) throw notFound('SignIn', signInId);
        return found;
      },
      async resolveSignIns({ signInIds }) {
        answer(`signIns ${signInIds.length}`);
        const found = signInIds.map((signInId) => ({ signInId, state: script.signIns.get(signInId) }));
        return { signIns: found.filter(({ state }) => state) };
      },
      async resolveApiKey({ keySha256 }) {
        answer('apiKey');
        const found = apiKeys.get(Buffer.from(keySha256).toString('hex'));
        await script.beforeApiKey(found !== undefined);
        if (!found) throw notFound('ApiKey', 'shown');
        return found;
      },
      async resolveApiKeys({ keysSha256 }) {
        answer('apiKeys');
        const found = keysSha256.map((key) => ({
          keySha256: key,
          owner: apiKeys.get(Buffer.from(key).toString('hex')),
        }));
        await Promise.all(found.map(async ({ owner }) => script.beforeApiKey(owner !== undefined)));
        return { keys: found.filter(({ owner }) => owner) };
      },
      async getTenant({ tenantId }) {
        answer(`tenant ${tenantId}`);
        const found = script.tenants.get(tenantId) ?? {};
        if (found === 'absent') throw notFound('Tenant', tenantId);
        return { tenantId, plan: 'DEV', suspended: false, deleted: false, ...found };
      },
    }),
  };
  return script;
}
