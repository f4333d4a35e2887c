import { createHash } from 'node:crypto';
import { notFound, unauthenticated, unavailable } from '@parley/kernel/errors';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import type { IdentityServiceDefinition, ResolveApiKeyResponse } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import type { FieldRules } from '../graph/field-rules.ts';
import { apiKeyOwners } from './api-key-owners.ts';
import { createAuthenticate, createOwnerOf } from './authenticate.ts';
import { credentialCalls } from './credential-calls.ts';

const origin = { ip: '192.0.2.1', requestId: 'r-1' };
const look = { purpose: 'openSocket' } as const;
const rules: FieldRules = new Map([
  ['Query.open', { by: [] }],
  ['Query.jwt', { by: ['JWT'] }],
  ['Query.key', { by: ['API_KEY'] }],
  ['Query.either', { by: ['JWT', 'API_KEY'] }],
  ['Query.token', { by: ['SESSION_TOKEN', 'JWT'] }],
  ['Query.limited', { by: ['JWT'], whileLimited: true }],
  ['Query.suspended', { by: ['JWT'], whileSuspended: true }],
]);
const fields = (...names: string[]) => names.map((name) => ({ type: 'Query' as const, name }));

const sessionTokens = createSessionTokens([{ id: 'k', key: Buffer.alloc(32, 1) }]);

const unlimited = { shares: { address: {}, tenant: {} } };

function setup(
  apiKey: () => ResolveApiKeyResponse,
  limitedReason = '',
  calls = credentialCalls({ limits: unlimited }),
  tenantSuspended = false,
) {
  const asked: string[] = [];
  const identity: Partial<RpcClient<typeof IdentityServiceDefinition>> = {
    async resolveApiKey({ keySha256 }) {
      asked.push(Buffer.from(keySha256 ?? []).toString('hex'));
      return apiKey();
    },
  };
  const deps = {
    rules,
    accessTokens: {
      jwks: async () => ({ keys: [] }),
      async verify(token: string) {
        if (token !== 'good') throw unauthenticated('Invalid or expired access token');
        return { signInId: 's-1', endsAtMs: 0 };
      },
    },
    sessionTokens,
    credentialStatus: {
      invalidate: () => undefined,
      refresh: () => undefined,
      signIn: async () => ({
        userId: 1,
        displayName: 'Ada',
        tenantId: 3,
        tenantSuspended,
        limitedReason,
        userSuspended: false,
      }),
      session: async () => 'ACTIVE',
      tenant: async () => ({ suspended: false, deleted: false }),
    },
    apiKeyOwner: apiKeyOwners(() => identity as RpcClient<typeof IdentityServiceDefinition>),
    calls,
  };
  return { authenticate: createAuthenticate(deps), ownerOf: createOwnerOf(deps), asked };
}

const live = () => ({ apiKeyId: 5, tenantId: 3, tenantSuspended: false });

test('a caller with an API key acts as that key in its tenant; each lookup sends only the hash of the key', async (t) => {
  const { authenticate, asked } = setup(live);
  for (let i = 0; i < 2; i += 1) {
    t.deepEqual(await authenticate(fields('open', 'key'), { apiKey: 'sk_1' }, origin), {
      kind: 'apiKey',
      apiKeyId: 5,
      tenantId: 3,
      ...origin,
    });
  }
  const hash = createHash('sha256').update('sk_1').digest('hex');
  t.deepEqual(asked, [hash, hash]);
});

test('an unknown API key or one of a suspended tenant is refused; one that cannot be checked is unavailable', async (t) => {
  const key = { apiKey: 'sk_1' };
  const absent = setup(() => {
    throw notFound('ApiKey', 'shown');
  });
  t.like(await t.throwsAsync(absent.authenticate(fields('key'), key, origin)), { kind: 'unauthenticated' });
  const suspended = setup(() => ({ ...live(), tenantSuspended: true }));
  t.like(await t.throwsAsync(suspended.authenticate(fields('key'), key, origin)), { reason: 'TENANT_SUSPENDED' });
  const away = setup(() => {
    throw unavailable('identity is not available');
  });
  t.like(await t.throwsAsync(away.authenticate(fields('key'), key, origin)), { kind: 'unavailable' });
});

test('with two credentials, the one that all fields accept is used', async (t) => {
  const { authenticate } = setup(live);
  const both = () => ({ bearer: 'good', apiKey: 'sk_1' });
  t.is((await authenticate(fields('jwt', 'either'), both(), origin)).kind, 'user');
  t.is((await authenticate(fields('key', 'either'), both(), origin)).kind, 'apiKey');
  t.is((await authenticate(fields('either'), { apiKey: 'sk_1' }, origin)).kind, 'apiKey');
  t.like(await t.throwsAsync(authenticate(fields('jwt', 'key'), both(), origin)), { kind: 'unauthenticated' });
  t.is((await authenticate(fields('open'), { bearer: 'bad' }, origin)).kind, 'anonymous');
});

test('an unknown field is refused', async (t) => {
  const { authenticate } = setup(live);
  t.like(await t.throwsAsync(authenticate(fields('nothing'), { bearer: 'good' }, origin)), {
    kind: 'unauthenticated',
  });
});

test('all credentials of a socket must be valid; without any it has no owner', async (t) => {
  const { ownerOf } = setup(live);
  t.is(await ownerOf({}, origin, look), undefined);
  t.is((await ownerOf({ bearer: 'good', apiKey: 'sk_1' }, origin, look))?.caller.kind, 'user');
  t.is((await ownerOf({ apiKey: 'sk_1' }, origin, look))?.caller.kind, 'apiKey');
  t.like(await t.throwsAsync(ownerOf({ bearer: 'bad', apiKey: 'sk_1' }, origin, look)), { kind: 'unauthenticated' });
});

test('a session token is recognized by its prefix, and ignored where it is not accepted', async (t) => {
  const { authenticate } = setup(live);
  const { token } = sessionTokens.mint({ audience: 'session', tenantId: 3, sessionId: 9 });
  t.deepEqual(await authenticate(fields('token'), { bearer: token }, origin), {
    kind: 'session',
    tenantId: 3,
    sessionId: 9,
    ...origin,
  });
  t.is((await authenticate(fields('either'), { bearer: token, apiKey: 'sk_1' }, origin)).kind, 'apiKey');
  const wrong = await t.throwsAsync(authenticate(fields('jwt'), { bearer: token }, origin));
  t.like(wrong, { kind: 'unauthenticated', message: 'Sign in with an access token' });
  const invalid = { kind: 'unauthenticated', message: 'Invalid or expired avatar token' };
  t.like(await t.throwsAsync(authenticate(fields('token'), { bearer: 'pst1.good' }, origin)), invalid);
  const voice = sessionTokens.mint({ audience: 'voice', tenantId: 3 });
  t.like(await t.throwsAsync(authenticate(fields('token'), { bearer: voice.token }, origin)), invalid);
});

test('public fields in the same operation do not change what a limited sign-in may do', async (t) => {
  const { authenticate } = setup(live, 'TWO_FACTOR_REQUIRED');
  const shown = () => ({ bearer: 'good' });
  t.is((await authenticate(fields('open', 'limited'), shown(), origin)).kind, 'user');
  t.like(await t.throwsAsync(authenticate(fields('open', 'jwt'), shown(), origin)), { reason: 'TWO_FACTOR_REQUIRED' });
});

test('a limited sign-in or a member of a suspended tenant may run an operation only if all its fields allow it', async (t) => {
  const limited = setup(live, 'TWO_FACTOR_REQUIRED');
  const suspended = setup(live, '', undefined, true);
  const shown = { bearer: 'good' };
  for (const [{ authenticate }, own, others, reason] of [
    [limited, 'limited', ['jwt', 'suspended'], 'TWO_FACTOR_REQUIRED'],
    [suspended, 'suspended', ['jwt', 'limited'], 'TENANT_SUSPENDED'],
  ] as const) {
    t.is((await authenticate(fields(own, own), shown, origin)).kind, 'user');
    for (const other of others) {
      t.like(await t.throwsAsync(authenticate(fields(other), shown, origin)), { kind: 'forbidden', reason });
      t.like(await t.throwsAsync(authenticate(fields(own, other), shown, origin)), { kind: 'forbidden', reason });
    }
  }
  for (const { ownerOf } of [limited, suspended]) {
    t.like(await t.throwsAsync(ownerOf(shown, origin, look)), { kind: 'forbidden' }, 'a socket could ask for anything');
  }
});

test('a full queue of its client delays neither the check of an open socket nor an operation that has begun', async (t) => {
  const calls = credentialCalls({ limits: { shares: { address: { inFlight: 1, waiting: 0 }, tenant: {} } } });
  const { authenticate, ownerOf } = setup(live, '', calls);
  const gate = createGate();
  const first = calls.queued(origin, gate.pass);
  const key = { apiKey: 'sk_1' };
  t.like(await t.throwsAsync(authenticate(fields('key'), key, origin)), { kind: 'tooManyRequests' });
  t.like(await ownerOf(key, origin, look), { caller: { apiKeyId: 5 }, ended: false });
  const begun = authenticate(fields('key'), key, origin, true);
  t.is(calls.waiting, 1);
  gate.open();
  await first;
  t.like(await begun, { apiKeyId: 5 });
});
