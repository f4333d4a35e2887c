import { randomBytes, randomUUID } from 'node:crypto';
import type { CredentialKind } from '@parley/graph/access';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { buildClientSchema, type GraphQLField, getIntrospectionQuery, type IntrospectionQuery } from 'graphql';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Client, Tokens } from '../../src/client.ts';
import { readContract } from '../../src/contract.ts';
import { createAgent, startSession } from '../../src/conversation.ts';
import { type CredentialMesh, idsOf, outcome, profile, withCredentials } from '../../src/credentials.ts';
import type { TestMesh } from '../../src/mesh.ts';
import { isId, type Operation, servedOperations } from '../../src/operations.ts';
import { subscribeOutcome } from '../../src/sockets.ts';
import { stories } from '../../src/stories.ts';

// Authorization is the same on every mesh, so one mesh serves these many requests.
const story = stories(test, { on: 'processes' });
const nobodysId = 900_000_001;

/** A caller of the public endpoint with one kind of credential. */
interface Bearer {
  url: string;
  headers: Record<string, string>;
  /** The session that the credential may access. Default: an id that does not exist. */
  sessionId?: number;
}

interface Credential {
  kind: CredentialKind | 'none';
  make(mesh: CredentialMesh): Promise<Bearer>;
  /** Returns the expected error of an operation that accepts this kind of credential; undefined if the caller is admitted. */
  refusal(operation: Operation): string | undefined;
}

const letIn = () => undefined;
const unauthenticated = () => 'UNAUTHENTICATED';

/**
 * Access rules as the contract defines them. They are not read from `@access` in the schema, so that a mistake in the schema is detected.
 */
const contract = readContract();
const ruleOf = ({ kind, name }: Operation) => contract.get(`${kind.charAt(0).toUpperCase()}${kind.slice(1)}.${name}`);

const signedIn = (client: Client): Bearer => bearer(client, `Bearer ${client.tokens?.accessToken}`);

/** Every kind of credential in every state, such as revoked or expired. */
const credentials: Record<string, Credential> = {
  none: { kind: 'none', make: async ({ visitor }) => bearer(visitor()), refusal: unauthenticated },
  'an access token': { kind: 'JWT', make: async ({ person }) => signedIn(await person()), refusal: letIn },
  'a revoked access token': {
    kind: 'JWT',
    async make({ person, people }) {
      const ada = await person();
      const { userId } = await idsOf(ada);
      await people(({ knex }) => knex('sign_ins').where({ user_id: userId }).update({ revoked_at: knex.fn.now() }));
      await eventually('it is known', async () => (await outcome(ada, profile)) === 'UNAUTHENTICATED');
      return signedIn(ada);
    },
    refusal: unauthenticated,
  },
  'an expired access token': {
    kind: 'JWT',
    async make({ person, people }) {
      const ada = await person();
      const sign = await signerOf(ada, people);
      const good = { ...ada.tokens, accessToken: await sign(600) } as Tokens;
      Object.assign(ada, { tokens: good });
      await eventually('the same with a later end is good', async () => (await outcome(ada, profile)) === 'ok');
      return bearer(ada, `Bearer ${await sign(-60)}`);
    },
    refusal: unauthenticated,
  },
  'a forged access token': {
    kind: 'JWT',
    async make({ person }) {
      const ada = await person();
      const [head, claims] = (ada.tokens?.accessToken ?? '').split('.');
      return bearer(ada, `Bearer ${head}.${claims}.${randomBytes(64).toString('base64url')}`);
    },
    refusal: unauthenticated,
  },
  'an access token of a limited sign-in': {
    kind: 'JWT',
    async make({ person, people }) {
      const ada = await person();
      const { userId } = await idsOf(ada);
      await people(({ knex }) =>
        knex('sign_ins').where({ user_id: userId }).update({ limited_reason: 'TWO_FACTOR_REQUIRED' }),
      );
      await eventually('it is known', async () => (await outcome(ada, '{ agentCount }')) !== 'ok');
      return signedIn(ada);
    },
    refusal: (operation) => (ruleOf(operation)?.whileLimited ? undefined : 'FORBIDDEN TWO_FACTOR_REQUIRED'),
  },
  'an access token of a suspended user': {
    kind: 'JWT',
    async make({ person, people }) {
      const ada = await person();
      const { userId } = await idsOf(ada);
      await people(({ knex }) => knex('users').where({ id: userId }).update({ status: 'SUSPENDED' }));
      await eventually('it is known', async () => (await outcome(ada, profile)) !== 'ok');
      return signedIn(ada);
    },
    refusal: () => 'FORBIDDEN USER_SUSPENDED',
  },
  'an access token of a suspended tenant': {
    kind: 'JWT',
    async make({ person }) {
      const ada = await person();
      await suspend(ada);
      return signedIn(ada);
    },
    refusal: (operation) =>
      (ruleOf(operation)?.whileSuspended ?? operation.kind === 'query') ? undefined : 'FORBIDDEN TENANT_SUSPENDED',
  },
  'an access token of a user without tenant, the only one deleted': {
    kind: 'JWT',
    async make({ person }) {
      const ada = await person();
      await ada.query('mutation { deleteTenant }');
      return signedIn(ada);
    },
    refusal: (operation) => (ruleOf(operation)?.withoutTenant ? undefined : 'FORBIDDEN NO_TENANT'),
  },
  'an API key': {
    kind: 'API_KEY',
    make: async ({ person }) => withApiKey(await person()),
    refusal: letIn,
  },
  'a replaced API key': {
    kind: 'API_KEY',
    async make({ person }) {
      const ada = await person();
      const old = await withApiKey(ada);
      await withApiKey(ada);
      return old;
    },
    refusal: unauthenticated,
  },
  'a forged API key': {
    kind: 'API_KEY',
    make: async ({ visitor }) => bearer(visitor(), undefined, 'sk_0123456789abcdefghijklmnopqrstuvwxyz'),
    refusal: unauthenticated,
  },
  'an API key of a suspended tenant': {
    kind: 'API_KEY',
    async make({ person }) {
      const ada = await person();
      const keyed = await withApiKey(ada);
      await suspend(ada);
      return keyed;
    },
    refusal: () => 'FORBIDDEN TENANT_SUSPENDED',
  },
  'an API key of a deleted tenant': {
    kind: 'API_KEY',
    async make({ person }) {
      const ada = await person();
      const keyed = await withApiKey(ada);
      await ada.query('mutation { deleteTenant }');
      return keyed;
    },
    refusal: unauthenticated,
  },
  'a session token': { kind: 'SESSION_TOKEN', make: (of) => withSession(of), refusal: letIn },
  'an expired session token': {
    kind: 'SESSION_TOKEN',
    make: (of) => withSession(of, { options: { clock: () => new Date(Date.now() - 2 * 60 * 60 * 1_000) } }),
    refusal: unauthenticated,
  },
  'a forged session token': {
    kind: 'SESSION_TOKEN',
    async make(of) {
      const good = await withSession(of);
      const parts = good.headers.authorization?.split('.') ?? [];
      parts[3] = randomBytes(32).toString('base64url');
      return { ...good, headers: { ...good.headers, authorization: parts.join('.') } };
    },
    refusal: unauthenticated,
  },
  'a session token of a suspended tenant': {
    kind: 'SESSION_TOKEN',
    make: (of) => withSession(of, { afterwards: suspend }),
    refusal: () => 'FORBIDDEN TENANT_SUSPENDED',
  },
  'a session token of a deleted tenant': {
    kind: 'SESSION_TOKEN',
    make: (of) => withSession(of, { afterwards: (ada) => ada.query('mutation { deleteTenant }') }),
    refusal: unauthenticated,
  },
};

/** Returns a bearer with the client's address and these credentials. */
function bearer({ url, ip }: Client, authorization?: string, apiKey?: string): Bearer {
  return {
    url,
    headers: {
      'x-app-platform': 'customer',
      'x-forwarded-for': ip,
      ...(authorization && { authorization }),
      ...(apiKey && { 'x-api-key': apiKey }),
    },
  };
}

async function withApiKey(client: Client): Promise<Bearer> {
  const { generateApiKey } = await client.query<{ generateApiKey: { key: string } }>(
    'mutation { generateApiKey { key } }',
  );
  return bearer(client, undefined, generateApiKey.key);
}

interface SessionOptions {
  options?: Parameters<CredentialMesh['withSessionToken']>[1];
  /** Changes the session's tenant after the session token was issued. */
  afterwards?: (owner: Client) => Promise<unknown>;
}

async function withSession(of: CredentialMesh, { options, afterwards }: SessionOptions = {}): Promise<Bearer> {
  const ada = await of.person();
  const { tenantId } = await idsOf(ada);
  const { id: sessionId } = await startSession(ada, await createAgent(ada));
  const holder = of.withSessionToken({ tenantId, sessionId }, options);
  await afterwards?.(ada);
  return { ...signedIn(holder), sessionId };
}

async function suspend(client: Client): Promise<void> {
  await client.query('mutation { updateTenant(input: { isSuspended: true }) { id } }');
}

/**
 * Returns a function that signs access tokens as identity does, but with other validity times. It signs with an old key, which is added to
 * identity's key set.
 */
async function signerOf(client: Client, people: CredentialMesh['people']) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const kid = randomUUID();
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' };
  await people(({ knex }) =>
    knex('signing_keys').insert({
      kid,
      public_jwk: JSON.stringify(publicJwk),
      private_jwk_sealed: Buffer.of(0),
      signs_from: new Date(0),
    }),
  );
  const claims = decodeJwt(client.tokens?.accessToken ?? '');
  return (endsInS: number) => {
    const exp = Math.floor(Date.now() / 1_000) + endsInS;
    const token = new SignJWT({ ...claims, iat: exp - 900, exp });
    return token.setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' }).sign(privateKey);
  };
}

story('the gateway serves exactly the operations of the supergraph', async (t, mesh) => {
  const served = buildClientSchema(await mesh.visitor().query<IntrospectionQuery>(getIntrospectionQuery()));
  const roots = [served.getQueryType(), served.getMutationType(), served.getSubscriptionType()];
  const signature = ({ name, args, type }: GraphQLField<unknown, unknown>) =>
    `${name}(${args.map((arg) => `${arg.name}: ${arg.type}`).join(', ')}): ${type}`;
  t.deepEqual(
    servedOperations().map(({ field }) => signature(field)),
    roots.flatMap((root) => Object.values(root?.getFields() ?? {}).map(signature)),
  );
});

for (const [name, credential] of Object.entries(credentials)) {
  story(`each operation responds to ${name} as the contract requires`, async (t, mesh) => {
    const all = withCredentials(mesh);
    const operations = servedOperations();
    let shared = await credential.make(all);
    for (const operation of operations) {
      const { kind } = operation;
      const { by } = ruleOf(operation) ?? t.fail(`the contract does not say who may ask for ${operation.name}`);
      const takes = credential.kind !== 'none' && by.includes(credential.kind);
      const refusal = takes ? credential.refusal(operation) : 'UNAUTHENTICATED';
      if (by.length === 0) {
        const strangers = await answerTo(mesh, operation, bearer(all.visitor()));
        t.is(await answerTo(mesh, operation, at(all.visitor(), shared)), strangers, `${operation.name} is public`);
        t.notRegex(strangers, /FORBIDDEN|INTERNAL|UNAVAILABLE|Not signed in/, operation.name);
      } else if (refusal === undefined) {
        const answer = await answerTo(mesh, operation, shared);
        t.notRegex(answer, /UNAUTHENTICATED|FORBIDDEN|INTERNAL|UNAVAILABLE|closed/, `${operation.name}: ${answer}`);
        // A mutation that succeeded may have revoked the credential.
        if (kind === 'mutation' && answer === 'ok') shared = await credential.make(all);
      } else {
        const answer = (await answerTo(mesh, operation, shared)).split(':')[0];
        // A socket with an invalid credential is closed before it can subscribe.
        const refused = kind === 'subscription' && answer === 'closed 4403' ? refusal : answer;
        t.is(refused, refusal, operation.name);
      }
    }
  });
}

/** Sends the operation, and returns the error code, reason and message; `ok` if it is not refused. */
async function answerTo(mesh: TestMesh, operation: Operation, bearer: Bearer): Promise<string> {
  const { url, headers, sessionId = nobodysId } = bearer;
  const requestId = operation.kind === 'subscription' ? await generationOf(mesh, bearer) : '';
  const variables = operation.variables((path, type) => {
    if (isId({ path, type: type.name })) {
      const id = path.endsWith('sessionId') ? sessionId : nobodysId;
      return type.name === 'ID' ? String(id) : id;
    }
    if (path === 'requestId') return requestId;
    if (operation.kind === 'subscription' && type.name === 'String') return 'no such place';
    return undefined;
  });
  const { kind, document: query } = operation;
  if (kind === 'subscription') return subscribeOutcome({ url, credentials: headers, query, variables });
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const { errors } = (await response.json()) as {
    errors?: { message: string; extensions: { code: string; reason?: string } }[];
  };
  const [error] = errors ?? [];
  if (!error) return 'ok';
  const { code, reason } = error.extensions;
  return `${[code, reason].filter(Boolean).join(' ')}: ${error.message}`;
}

/** Starts a long text generation as the bearer and returns its id. Returns some other text if the bearer may not start one. */
async function generationOf({ model }: TestMesh, { url, headers }: Bearer): Promise<string> {
  // The generation must last long, because its events are not replayed and the first ones may precede the subscription.
  model.answer('Count for long.', { text: Array.from({ length: 600 }, (_, n) => `${n} `), deltaDelayMs: 50 });
  const query =
    'mutation ($prompt: String!) { started: startTextGeneration(input: { prompt: $prompt }) { requestId } }';
  const variables = { prompt: `[model 127.0.0.1:${model.port}]\n\nCount for long.` };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const { data } = (await response.json()) as { data?: { started: { requestId: string } } | null };
  return data?.started.requestId ?? 'nobody has started it';
}

/** Returns the same credential with an unused client address, which no throttle has counted. */
function at({ ip }: Client, shown: Bearer): Bearer {
  return { ...shown, headers: { ...shown.headers, 'x-forwarded-for': ip } };
}
