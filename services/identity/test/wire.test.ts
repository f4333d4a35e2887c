import { createHash } from 'node:crypto';
import type { Envelope } from '@parley/events/envelope';
import { type Caller, callerHeader } from '@parley/kernel/caller';
import { createLogger } from '@parley/kernel/telemetry/log';
import { onAnnouncement } from '@parley/live/key-value/announcements';
import { credentialsChanged } from '@parley/protos/announcements';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { createChannel, createClient, Metadata } from 'nice-grpc';
import { generateSync } from 'otplib';
import { anonymous, mesh, newRegistration } from './support/identity-app.ts';
import { identityUnit } from './support/identity-unit.ts';

const registerMutation = `mutation ($input: RegisterInput!) {
  register(input: $input) { accessToken expiresIn refreshToken refreshExpiresIn }
}`;

/** Registers over HTTP and returns the caller that the gateway would send. */
async function registerOverGraphql({ graph, rpc }: Awaited<ReturnType<typeof identityUnit>>) {
  const { data } = await graph(anonymous, registerMutation, { input: newRegistration() });
  const tokens = data?.register as { accessToken: string; refreshToken: string };
  const { jwksJson } = await rpc.getJwks({}, { caller: mesh });
  const { payload } = await jwtVerify(tokens.accessToken, createLocalJWKSet(JSON.parse(jwksJson)), {
    issuer: 'http://localhost:4000',
  });
  const { userId, displayName, tenantId } = await rpc.resolveSignIn(
    { signInId: String(payload.sid) },
    { caller: mesh },
  );
  const caller = {
    ...anonymous,
    kind: 'user' as const,
    userId,
    displayName,
    signInId: String(payload.sid),
    tenantId: tenantId ?? 0,
  };
  return { tokens, caller };
}

test('a user can register over GraphQL, be resolved over gRPC and use every operation', async (t) => {
  const unit = await identityUnit(t, { migrated: false });
  const { tokens, caller } = await registerOverGraphql(unit);
  const ask = async (query: string, variables?: object) => {
    const { status, data, errors } = await unit.graph(caller, query, variables);
    t.deepEqual([status, errors], [200, undefined], query);
    return data as Record<string, Record<string, unknown>>;
  };

  t.like(await ask('{ myTenant { id name plan isSuspended primaryBillingAccount createdAt deletedAt } }'), {
    myTenant: { id: caller.tenantId, plan: 'DEV', primaryBillingAccount: 'PLATFORM', deletedAt: null },
  });
  const { getAuthProfile } = await ask('{ getAuthProfile { id email status twoFactorEnabled createdAt } }');
  t.like(getAuthProfile, { id: caller.userId, status: 'ACTIVE', twoFactorEnabled: false });
  t.regex(String(getAuthProfile?.createdAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.like(await ask('{ avatarConfig { id gender glbModel } isRegisterable(email: "new@example.test") }'), {
    avatarConfig: { gender: 'FEMALE', glbModel: 'aria.glb' },
    isRegisterable: { registerable: true, reasons: [] },
  });
  t.like(await ask('mutation { upsertAvatarConfig(input: { speakingRate: 1.5 }) { speakingRate } }'), {
    upsertAvatarConfig: { speakingRate: 1.5 },
  });
  t.like(await ask('mutation { updateTenant(input: { name: "Renamed", llmModelOverride: null }) { name } }'), {
    updateTenant: { name: 'Renamed' },
  });
  const refreshed = await unit.graph(
    anonymous,
    'mutation ($t: String!) { refreshToken(input: { refreshToken: $t }) { refreshToken } }',
    {
      t: tokens.refreshToken,
    },
  );
  t.regex(JSON.stringify(refreshed.data), /"refreshToken":"prt_/);
  t.like(await ask('mutation { setPrimaryBillingAccount(billingAccount: IDP_ONE) { primaryBillingAccount } }'), {
    setPrimaryBillingAccount: { primaryBillingAccount: 'IDP_ONE' },
  });
  const { myTenants } = await ask('{ myTenants { id name plan region isSuspended createdAt } }');
  t.like(myTenants, [{ id: caller.tenantId, name: 'Renamed' }]);
  const switchTo = 'mutation ($id: Int!) { switchTenant(id: $id) { id primaryBillingAccount } }';
  t.like(await ask(switchTo, { id: caller.tenantId }), { switchTenant: { id: caller.tenantId } });
  const { generateTwoFactor } = await ask('mutation { generateTwoFactor { secret output } }');
  const { secret, output } = generateTwoFactor as { secret: string; output: string };
  t.regex(output, /^otpauth:\/\/totp\/Parley:/u);
  const code = (steps: number) => generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + 30 * steps });
  const bind = 'mutation ($input: BindTwoFactorInput!) { bindTwoFactor(input: $input) }';
  t.deepEqual(await ask(bind, { input: { secret, code: code(0) } }), { bindTwoFactor: true });
  t.deepEqual(await ask('mutation ($code: String!) { verifyTwoFactor(code: $code) }', { code: code(1) }), {
    verifyTwoFactor: true,
  });
  const unbind = 'mutation { unbindTwoFactor(input: { code: "no" }) }';
  t.like((await unit.graph(caller, unbind)).errors, [
    { message: 'The code is not valid', extensions: { code: 'BAD_REQUEST', statusCode: 400 } },
  ]);
  const { generateApiKey } = await ask('mutation { generateApiKey { key warning } }');
  const keySha256 = createHash('sha256').update(String(generateApiKey?.key)).digest();
  t.is((await unit.rpc.resolveApiKey({ keySha256 }, { caller: mesh })).tenantId, caller.tenantId);
  await ask('mutation { changePassword(input: { newPassword: "another long password" }) }');
  await ask('mutation { deleteTenant }');
  await ask('mutation { createTenant(input: { name: "Second" }) { id } }');
});

test('GraphQL errors have the extensions of the contract', async (t) => {
  const unit = await identityUnit(t);
  const { caller } = await registerOverGraphql(unit);
  const codes = async (who: Caller, query: string) => (await unit.graph(who, query)).errors?.[0]?.extensions;

  t.deepEqual(await codes(caller, 'mutation { updateTenant(input: { name: null }) { id } }'), {
    code: 'BAD_REQUEST',
    statusCode: 400,
    fields: [{ path: 'input.name', message: 'must not be null' }],
  });
  t.deepEqual(await codes({ ...caller, tenantId: null }, '{ avatarConfig { id } }'), {
    code: 'FORBIDDEN',
    statusCode: 403,
    reason: 'NO_TENANT',
  });
  t.deepEqual(await codes(anonymous, '{ myTenant { id } }'), { code: 'UNAUTHENTICATED', statusCode: 401 });
  t.deepEqual(await codes({ kind: 'apiKey', tenantId: 1, apiKeyId: 1, requestId: 'x' }, '{ myTenant { id } }'), {
    code: 'UNAUTHENTICATED',
    statusCode: 401,
  });
  t.like(await codes(anonymous, 'mutation { login(input: { email: "a@b.test", password: "x" }) { accessToken } }'), {
    code: 'UNAUTHENTICATED',
  });
  t.like(await codes(caller, 'mutation { updateTenant(input: { plan: GOLD }) { id } }'), { statusCode: 400 });
});

test('both ports refuse calls without a mesh credential or with one for another service', async (t) => {
  const { graph, dependencies, rpc } = await identityUnit(t);
  t.is((await graph(null, '{ __typename }')).status, 401);

  const channel = createChannel(dependencies.addresses.of('identity', 'rpc'));
  t.teardown(() => channel.close());
  const bare = createClient(IdentityServiceDefinition, channel);
  await t.throwsAsync(bare.getJwks({}), { message: /UNAUTHENTICATED/ });
  await t.throwsAsync(bare.resolveSignIn({ signInId: 'x' }), { message: /UNAUTHENTICATED/ });
  const forAnother = Metadata({ [callerHeader]: await dependencies.callers.mint(mesh, 'session') });
  await t.throwsAsync(bare.getJwks({}, { metadata: forAnother }), { message: /UNAUTHENTICATED/ });
  await t.notThrowsAsync(rpc.getJwks({}, { caller: mesh }));
});

test('gRPC describes a tenant, and unknown ids are not found', async (t) => {
  const unit = await identityUnit(t);
  const { caller } = await registerOverGraphql(unit);
  const tenantId = caller.tenantId;
  await unit.graph(
    caller,
    'mutation { updateTenant(input: { llmProviderOverride: CLOUD_HOSTED_MODELS, llmModelOverride: "gpt-4o" }) { id } }',
  );

  t.deepEqual(await unit.rpc.getTenant({ tenantId }, { caller }), {
    tenantId,
    plan: 'DEV',
    suspended: false,
    deleted: false,
    llmProviderOverride: 'CLOUD_HOSTED_MODELS',
    llmModelOverride: 'gpt-4o',
    quotas: { knowledgeBases: 3, chunks: 5_000, storageMb: 100 },
    apiKeyId: 0,
  });
  const expectedErrors = ['notFound' as const];
  for (const id of [0, -1, tenantId + 1000]) {
    t.like(await t.throwsAsync(unit.rpc.getTenant({ tenantId: id }, { caller: mesh, expectedErrors })), {
      kind: 'notFound',
    });
  }
  for (const signInId of ['', 'x', '00000000-0000-0000-0000-000000000000', "' OR 1=1", '\0']) {
    t.like(await t.throwsAsync(unit.rpc.resolveSignIn({ signInId }, { caller: mesh, expectedErrors })), {
      kind: 'notFound',
    });
  }
  const { signIns } = await unit.rpc.resolveSignIns(
    { signInIds: ['x', caller.signInId, '00000000-0000-0000-0000-000000000000', "' OR 1=1"] },
    { caller: mesh },
  );
  const { signInId, userId } = caller;
  t.like(signIns, [{ signInId, state: { userId, tenantId, limitedReason: '', userSuspended: false } }]);
});

test('changed credentials are announced before the mutation responds', async (t) => {
  const unit = await identityUnit(t);
  const { caller } = await registerOverGraphql(unit);
  const received: CredentialsChanged['whose'][] = [];
  await onAnnouncement(
    unit.dependencies.keyValue,
    credentialsChanged,
    (changed) => received.push(changed?.whose),
    createLogger('test'),
  );
  await unit.graph(caller, 'mutation { generateApiKey { key } }');
  t.deepEqual(received, [{ $case: 'tenantId', value: caller.tenantId }]);
  await unit.graph(caller, 'mutation { createTenant(input: { name: "Second" }) { id } }');
  t.deepEqual(received.at(-1), { $case: 'signInId', value: caller.signInId });
});

test('readiness follows the database', async (t) => {
  const { unit, dependencies } = await identityUnit(t);
  const ready = async () => (await fetch(`${dependencies.addresses.of('identity', 'ops')}/readyz`)).status;
  await t.notThrowsAsync(unit.ready());
  t.is(await ready(), 200);
  await dependencies.database({ name: 'identity', tables: {}, migrations: [] }).close();
  t.is(await ready(), 503);
});

test('the deletion of a tenant is published as tenant.deleted.v1', async (t) => {
  const unit = await identityUnit(t);
  const { caller } = await registerOverGraphql(unit);
  const events: Envelope[] = [];
  const topics = ['tenant-deleted'];
  await unit.dependencies.eventBus.subscribe({
    group: 'test',
    topics,
    handler: async (event) => void events.push(event),
  });
  await unit.graph(caller, 'mutation { deleteTenant }');
  await eventually('the event', () => events.length > 0);
  t.like(events, [{ type: 'tenant.deleted.v1', source: 'identity', tenantId: caller.tenantId }]);
});

test('a locked account gets the same response bytes as a wrong password', async (t) => {
  const { graph } = await identityUnit(t);
  const input = newRegistration();
  await graph(anonymous, registerMutation, { input });
  const login = (email: string, password: string) =>
    graph(anonymous, 'mutation ($input: SignInInput!) { login(input: $input) { accessToken } }', {
      input: { email, password },
    });
  const answers = [];
  for (let n = 0; n < 10; n += 1) answers.push(await login(input.email, `wrong password ${n}`));
  answers.push(await login(input.email, input.password), await login('nobody@example.test', input.password));
  t.is(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
  t.is(answers[0]?.errors?.[0]?.message, 'Wrong credentials');
});
