import { readFileSync } from 'node:fs';
import { callerHeader } from '@parley/kernel/caller';
import type { Environment } from '@parley/kernel/settings/config';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { type EnumTypeDefinitionNode, Kind, parse } from 'graphql';
import { decodeJwt } from 'jose';
import type { AccessToken } from '../src/keys/access-token.ts';
import { anonymous, mesh, newRegistration } from './support/identity-app.ts';
import { startIdentityProvider } from './support/identity-provider.ts';
import { type GraphAnswer, identityUnit } from './support/identity-unit.ts';
import { newPerson } from './support/idp-one-app.ts';

const loginMutation =
  'mutation ($ticket: String!) { loginWithIdpOne(ticket: $ticket) { accessToken expiresIn refreshToken refreshExpiresIn } }';
const linkMutation = `mutation ($provider: AuthProvider!, $providerToken: String!) {
  linkIdentity(provider: $provider, providerToken: $providerToken)
}`;
const unlinkMutation = 'mutation ($provider: AuthProvider!) { unlinkIdentity(provider: $provider) }';

async function started(t: ExecutionContext, env: Environment = {}) {
  const provider = await startIdentityProvider();
  t.teardown(() => provider.stop());
  const unit = await identityUnit(t, { settings: { ...provider.env, ...env } });
  /** Returns the caller that the gateway would send for a client with these tokens. */
  async function callerOf({ data, errors }: GraphAnswer) {
    const [tokens] = Object.values(data ?? {}) as AccessToken[];
    if (!tokens) throw new Error(JSON.stringify(errors));
    const signInId = String(decodeJwt(tokens.accessToken).sid);
    const { userId, tenantId = null } = await unit.rpc.resolveSignIn({ signInId }, { caller: mesh });
    return { ...anonymous, kind: 'user' as const, userId, signInId, tenantId };
  }
  return { ...unit, provider, callerOf };
}

test('AuthProvider has the values of the contract', (t) => {
  const sdl = readFileSync(new URL('../src/schema.graphql', import.meta.url), 'utf8');
  const type = parse(sdl).definitions.find(
    (each): each is EnumTypeDefinitionNode =>
      each.kind === Kind.ENUM_TYPE_DEFINITION && each.name.value === 'AuthProvider',
  );
  const names = type?.values?.map(({ name }) => name.value);
  t.deepEqual(names, ['PASSWORD', 'IDP_ONE', 'RESERVED_PROVIDER_1', 'RESERVED_PROVIDER_2']);
});

test('somebody can sign in, set a password, unlink and link the identity over GraphQL', async (t) => {
  const { graph, provider, callerOf } = await started(t);
  const person = newPerson({ company: { id: 'acme', name: 'Acme Ltd' } });
  const answer = await graph(anonymous, loginMutation, { ticket: provider.ticketFor(person) });
  t.like(answer.data, { loginWithIdpOne: { expiresIn: 900, refreshExpiresIn: 2_592_000 } });
  t.regex(JSON.stringify(answer.data), /"refreshToken":"prt_/);
  const caller = await callerOf(answer);
  const ask = async (query: string, variables?: object) => (await graph(caller, query, variables)).data;

  t.like(await ask('{ myTenant { name plan primaryBillingAccount } getAuthProfile { email } }'), {
    myTenant: { name: 'Acme Ltd', plan: 'DEV', primaryBillingAccount: 'PLATFORM' },
    getAuthProfile: { email: person.email },
  });
  t.deepEqual(await ask(linkMutation, { provider: 'PASSWORD', providerToken: 'correct horse battery' }), {
    linkIdentity: true,
  });
  t.deepEqual(await ask(unlinkMutation, { provider: 'IDP_ONE' }), { unlinkIdentity: true });
  const providerToken = provider.ticketFor(person);
  t.deepEqual(await ask(linkMutation, { provider: 'IDP_ONE', providerToken }), { linkIdentity: true });
});

test('refusals have the codes of the contract', async (t) => {
  const { graph, provider, callerOf } = await started(t);
  const login = (ticket: string) => graph(anonymous, loginMutation, { ticket });
  const extensionsOf = async (answer: ReturnType<typeof login>) => (await answer).errors?.[0]?.extensions;
  const person = newPerson();
  const caller = await callerOf(await login(provider.ticketFor(person)));

  t.deepEqual(await extensionsOf(login('unknown')), { code: 'UNAUTHENTICATED', statusCode: 401 });
  t.deepEqual(await extensionsOf(login('')), {
    code: 'BAD_REQUEST',
    statusCode: 400,
    fields: [{ path: 'ticket', message: 'must not be blank' }],
  });
  t.deepEqual(await extensionsOf(login(provider.ticketFor(newPerson({ email: person.email })))), {
    code: 'CONFLICT',
    statusCode: 409,
  });
  provider.failNext({ status: 500 });
  t.deepEqual(await extensionsOf(login('any')), { code: 'UNAVAILABLE', statusCode: 503 });
  for (const provider of ['RESERVED_PROVIDER_1', 'RESERVED_PROVIDER_2']) {
    const reserved = { code: 'NOT_IMPLEMENTED', statusCode: 501 };
    t.deepEqual(await extensionsOf(graph(caller, linkMutation, { provider, providerToken: 'any' })), reserved);
    t.deepEqual(await extensionsOf(graph(caller, unlinkMutation, { provider })), reserved);
  }
  t.deepEqual(await extensionsOf(graph(caller, unlinkMutation, { provider: 'IDP_ONE' })), {
    code: 'BAD_REQUEST',
    statusCode: 400,
    reason: 'LAST_LOGIN_METHOD',
  });
  const anyTicket = { provider: 'IDP_ONE', providerToken: 'unknown' };
  t.deepEqual(await extensionsOf(graph(caller, linkMutation, anyTicket)), { code: 'BAD_REQUEST', statusCode: 400 });
  t.deepEqual(await extensionsOf(graph(anonymous, linkMutation, anyTicket)), {
    code: 'UNAUTHENTICATED',
    statusCode: 401,
  });
});

test('a client that disconnects while the provider is asked ends the exchange', async (t) => {
  const { dependencies, provider } = await started(t, { IDP_ONE_TIMEOUT_MS: '600000' });
  provider.failNext('hang');
  const leaving = new AbortController();
  const ticket = provider.ticketFor(newPerson());
  const send = async (signal: AbortSignal | null) =>
    fetch(dependencies.addresses.of('identity', 'graph'), {
      method: 'POST',
      signal,
      headers: {
        'content-type': 'application/json',
        [callerHeader]: await dependencies.callers.mint(anonymous, 'identity'),
      },
      body: JSON.stringify({ query: loginMutation, variables: { ticket } }),
    });
  const left = t.throwsAsync(send(leaving.signal));
  await eventually('it is asked', () => provider.exchanges.length === 1);
  leaving.abort();
  await left;
  await eventually('the ticket can be used', async () => !(await (await send(null)).text()).includes('errors'));
});

test('a password that was registered before its owner signed in with the provider is of no use alone', async (t) => {
  const { graph, provider, rpc, callerOf } = await started(t);
  const input = newRegistration();
  const register = 'mutation ($input: RegisterInput!) { register(input: $input) { accessToken } }';
  const squatter = await callerOf(await graph(anonymous, register, { input }));
  await graph(anonymous, loginMutation, { ticket: provider.ticketFor(newPerson({ email: input.email })) });
  await t.throwsAsync(
    rpc.resolveSignIn({ signInId: squatter.signInId }, { caller: mesh, expectedErrors: ['notFound'] }),
  );
  const { errors } = await graph(squatter, 'mutation { generateApiKey { key } }');
  t.like(errors?.[0]?.extensions, { code: 'UNAUTHENTICATED' });
});
