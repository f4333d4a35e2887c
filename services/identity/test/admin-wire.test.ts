import { randomBytes } from 'node:crypto';
import { type Caller, callerHeader, createCallers } from '@parley/kernel/caller';
import { createLogger } from '@parley/kernel/telemetry/log';
import { onAnnouncement } from '@parley/live/key-value/announcements';
import { credentialsChanged } from '@parley/protos/announcements';
import { AdminServiceDefinition } from '@parley/protos/parley/identity/v1/admin';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { startService } from '@parley/testing/service-harness';
import test from 'ava';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { createChannel, createClient, Metadata } from 'nice-grpc';
import { identity } from '../src/service.ts';
import { anonymous, mesh, newRegistration } from './support/identity-app.ts';
import { operator, operatorsUnit } from './support/operators.ts';
import { agentOf, settlement } from './support/spend.ts';

type Unit = Awaited<ReturnType<typeof operatorsUnit>>;

const ada = { caller: operator('ada') };

async function register({ graph, rpc, admin }: Pick<Unit, 'graph' | 'rpc' | 'admin'>) {
  const input = newRegistration();
  const { data } = await graph(
    anonymous,
    'mutation ($input: RegisterInput!) { register(input: $input) { accessToken } }',
    { input },
  );
  const accessToken = (data?.['register'] as { accessToken?: string } | undefined)?.accessToken ?? '';
  const { users } = await admin.listUsers({ email: input.email }, ada);
  const [user] = users;
  return { accessToken, email: input.email, userId: user?.id ?? 0, tenantId: user?.ownerOf[0] ?? 0, verify };

  async function verify() {
    const { jwksJson } = await rpc.getJwks({}, { caller: mesh });
    return jwtVerify(accessToken, createLocalJWKSet(JSON.parse(jwksJson)));
  }
}

test("a tenant's own quotas replace its plan's, each separately", async (t) => {
  const unit = await operatorsUnit(t);
  const { admin, rpc } = unit;
  const { tenantId } = await register(unit);
  const { tenantId: neighbour } = await register(unit);
  const quotas = async (id = tenantId) => (await rpc.getTenant({ tenantId: id }, { caller: mesh })).quotas;
  const ofPlan = { knowledgeBases: 3, chunks: 5_000, storageMb: 100 };
  t.deepEqual(await quotas(), ofPlan);

  const { tenant } = await admin.setQuota({ tenantId, quota: 'chunks', amount: 20_000 }, ada);
  t.like(tenant, { chunks: 20_000, storageMb: undefined });
  await admin.setQuota({ tenantId, quota: 'knowledge-bases', amount: 1 }, ada);
  await admin.setQuota({ tenantId, quota: 'storage-mb', amount: 2_147_483_647 }, ada);
  t.deepEqual(await quotas(), { knowledgeBases: 1, chunks: 20_000, storageMb: 2_147_483_647 });
  t.deepEqual(await quotas(neighbour), ofPlan);
  await admin.setPlan({ tenantId, plan: 'PRO' }, ada);
  t.like(await quotas(), { chunks: 20_000 });

  t.like(await admin.setQuota({ tenantId, quota: 'chunks' }, ada), { tenant: { chunks: undefined } });
  t.like(await quotas(), { chunks: 250_000, knowledgeBases: 1 });
  for (const wrong of [
    { quota: 'chunks', amount: 0 },
    { quota: 'chunks', amount: -1 },
    { quota: 'users', amount: 1 },
  ]) {
    const refused = admin.setQuota({ tenantId, ...wrong }, { ...ada, expectedErrors: ['invalid'] });
    t.like(await t.throwsAsync(refused), { kind: 'invalid' });
  }
});

test('an operator can do everything over the wire', async (t) => {
  const unit = await operatorsUnit(t);
  const { admin, rpc } = unit;
  const { userId, tenantId, email, verify } = await register(unit);
  await rpc.settleSpend({ settlements: [settlement('a')] }, { caller: agentOf(tenantId) });

  const { tenants } = await admin.listTenants({ owner: email }, ada);
  const [tenant] = tenants;
  t.true(tenant?.createdAt instanceof Date);
  t.deepEqual(tenant, {
    id: tenantId,
    name: tenant?.name,
    plan: 'DEV',
    region: '',
    ownerId: userId,
    ownerEmail: email,
    suspendedByTenant: false,
    suspendedByOperator: false,
    billingAccount: 'PLATFORM',
    idpOneBillingConfirmed: false,
    monthlyCapUsdE8: undefined,
    knowledgeBases: undefined,
    chunks: undefined,
    storageMb: undefined,
    createdAt: tenant?.createdAt,
    deletedAt: undefined,
  });
  const of = { tenantId, userId };
  t.true((await admin.setTenantSuspension({ ...of, suspended: true }, ada)).tenant?.suspendedByOperator);
  t.is((await admin.setPlan({ ...of, plan: 'PRO' }, ada)).tenant?.plan, 'PRO');
  const { tenant: capped } = await admin.setMonthlyCap({ ...of, monthlyCapUsdE8: 2_550_000_000n }, ada);
  t.is(capped?.monthlyCapUsdE8, 2_550_000_000n);
  t.true((await admin.setIdpOneBilling({ ...of, confirmed: true }, ada)).tenant?.idpOneBillingConfirmed);
  t.is((await admin.passOwnership(of, ada)).tenant?.ownerId, userId);
  t.is((await admin.issueInvitation({ contact: 'New@example.test' }, ada)).sentTo, 'new@example.test');
  await admin.putTenantSecret({ tenantId, name: 'KEY', value: 'canary' }, ada);
  t.like((await admin.listTenantSecrets({ tenantId }, ada)).secrets, [{ name: 'KEY' }]);
  await admin.removeTenantSecret({ tenantId, name: 'KEY' }, ada);
  const usage = await admin.getTenantUsage({ tenantId }, ada);
  t.is(usage.monthlyCapUsdE8, 2_550_000_000n);
  t.like(usage.months, [{ spentUsdE8: 1_000_000n, reservedUsdE8: 0n, estimatedUsdE8: 0n }]);
  t.deepEqual(usage.counts, [{ model: 'small-1', operation: 'session', count: 1n }]);
  t.is((await admin.removeTwoFactor({ userId }, ada)).user?.twoFactor, false);
  t.is((await admin.revokeSignIns({ userId }, ada)).user?.signIns, 0);
  t.is((await admin.setUserSuspension({ userId, suspended: true }, ada)).user?.status, 'SUSPENDED');

  const { key } = await admin.rotateAccessTokenKey({}, ada);
  t.is(key?.state, 'next');
  await t.notThrowsAsync(verify());
  t.like((await admin.listSigningKeys({}, ada)).keys, [{ kid: key?.kid }, { state: 'signing' }]);
  const { entries, nextBefore } = await admin.listAudit({ first: 2 }, ada);
  t.like(entries, [
    { operator: 'ada', action: 'rotate-key', tenantId: undefined, requestId: 'r1' },
    { operator: 'ada', action: 'suspend-user', userId, factsJson: '{"status":["ACTIVE","SUSPENDED"]}' },
  ]);
  t.is(nextBefore, entries[1]?.id);
  t.is((await admin.listAudit({ first: 200 }, ada)).entries.length, 12);
});

test('AdminService accepts only callers with OPERATOR_KEY, which gives access to nothing else', async (t) => {
  const unit = await operatorsUnit(t);
  const { dependencies, clientOf, operatorKey, admin } = unit;
  const { tenantId } = await register(unit);
  const expected = { message: /UNAUTHENTICATED: AdminService takes calls signed with OPERATOR_KEY only/ };
  const channel = createChannel(dependencies.addresses.of('identity', 'rpc'));
  t.teardown(() => channel.close());
  const bare = createClient(AdminServiceDefinition, channel);
  const request = { tenantId, suspended: true };
  const now = Date.now();
  const signed = (callers: ReturnType<typeof createCallers>, caller: Caller, audience = 'identity') =>
    callers.mint(caller, audience);
  const tokens = {
    none: '',
    'of the mesh': await signed(dependencies.callers, mesh),
    'of an operator, signed by the mesh': await signed(dependencies.callers, ada.caller),
    'of another key': await signed(createCallers(randomBytes(32)), ada.caller),
    'for another unit': await signed(createCallers(operatorKey), ada.caller, 'session'),
    expired: await signed(
      createCallers(operatorKey, () => now - 66_000),
      ada.caller,
    ),
  };
  for (const [what, token] of Object.entries(tokens)) {
    const metadata = Metadata(token ? { [callerHeader]: token } : {});
    await t.throwsAsync(bare.setTenantSuspension(request, { metadata }), expected, what);
    await t.throwsAsync(bare.listAudit({}, { metadata }), expected, what);
  }
  const own = createCallers(operatorKey);
  const expectedErrors = ['forbidden' as const];
  const asMesh = (await clientOf(own)).setTenantSuspension(request, { caller: mesh, expectedErrors });
  t.like(await t.throwsAsync(asMesh), { kind: 'forbidden', reason: 'OPERATOR_ONLY' });
  t.deepEqual((await admin.listAudit({}, ada)).entries, []);

  const others = createClient(IdentityServiceDefinition, channel);
  const metadata = Metadata({ [callerHeader]: await own.mint(ada.caller, 'identity') });
  await t.throwsAsync(others.getTenant({ tenantId }, { metadata }), { message: /takes calls from the mesh only/ });
  await t.throwsAsync(others.getJwks({}, { metadata }), { message: /takes calls from the mesh only/ });
  const graph = await fetch(dependencies.addresses.of('identity', 'graph'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', [callerHeader]: await own.mint(ada.caller, 'identity') },
    body: '{"query":"{ __typename }"}',
  });
  t.is(graph.status, 401);
});

test('without OPERATOR_KEY the AdminService is not served, and the log says so once', async (t) => {
  const lines: string[] = [];
  const log = {
    ...createLogger('identity', { LOG_LEVEL: 'silent' }),
    info: (...given: unknown[]) => lines.push(String(given.at(-1))),
  };
  const env = { SECRETS_KEYS: randomBytes(32).toString('base64') };
  const { dependencies, rpc } = await startService(t, identity, { env, log: log as never });
  const channel = createChannel(dependencies.addresses.of('identity', 'rpc'));
  t.teardown(() => channel.close());
  const metadata = Metadata({ [callerHeader]: await dependencies.callers.mint(mesh, 'identity') });
  await t.throwsAsync(createClient(AdminServiceDefinition, channel).listAudit({}, { metadata }), {
    message: /UNIMPLEMENTED/,
  });
  await t.notThrowsAsync(rpc.getJwks({}, { caller: mesh }));
  t.is(lines.filter((line) => line.includes('AdminService is not served')).length, 1);
});

test('a suspension is announced before the operator gets the response', async (t) => {
  const unit = await operatorsUnit(t);
  const { userId, tenantId } = await register(unit);
  const received: CredentialsChanged['whose'][] = [];
  await onAnnouncement(
    unit.dependencies.keyValue,
    credentialsChanged,
    (changed) => received.push(changed?.whose),
    createLogger('test'),
  );
  await unit.admin.setUserSuspension({ userId, suspended: true }, ada);
  t.deepEqual(received.at(-1), { $case: 'userId', value: userId });
  await unit.admin.setTenantSuspension({ tenantId, suspended: true }, ada);
  t.deepEqual(received.at(-1), { $case: 'tenantId', value: tenantId });
});

test('errors over gRPC name the cause', async (t) => {
  const { admin } = await operatorsUnit(t);
  const options = { ...ada, expectedErrors: ['notFound' as const, 'invalid' as const] };
  t.like(await t.throwsAsync(admin.setPlan({ tenantId: 7, plan: 'PRO' }, options)), {
    kind: 'notFound',
    message: 'Tenant 7 not found',
  });
  t.like(await t.throwsAsync(admin.setPlan({ tenantId: 7, plan: 'GOLD' }, options)), {
    kind: 'invalid',
    message: 'plan must be DEV, PRO or ENTERPRISE',
  });
  t.like(await t.throwsAsync(admin.listUsers({ first: 201, phone: 'x' }, options)), {
    fields: [{ path: 'first', message: 'must be between 0 and 200' }],
  });
});
