import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { adminCommands, wordsOf } from '@parley/commands/admin/commands';
import { readMethods, readOperatorMethods } from '@parley/commands/rpc/methods';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { invalid, notFound } from '@parley/kernel/errors';
import { AdminServiceDefinition as ActionAdminDefinition } from '@parley/protos/parley/action/v1/admin';
import { AdminServiceDefinition, type AdminServiceImplementation } from '@parley/protos/parley/identity/v1/admin';
import { AdminServiceDefinition as SessionAdminDefinition } from '@parley/protos/parley/session/v1/admin';
import type { MeshContext } from '@parley/rpc/server';
import { serveStub } from '@parley/testing/serve-stub';
import test, { type ExecutionContext } from 'ava';
import { type Typing as TypedLine, typed as typedLine } from './testing/typed.ts';

const operatorKey = randomBytes(32);

interface Typing extends TypedLine {
  json?: boolean;
  filters?: Record<string, string>;
  /** The operator's name; null passes no name. */
  as?: string | null;
}

/** Runs `scripts/admin …` and returns its output. */
function typed(words: string, { json = false, filters = {}, as = 'ada', ...rest }: Typing = {}) {
  const options = Object.entries(filters).map(([name, value]) => `--${name}=${value}`);
  return typedLine(
    [...words.split(' '), ...options, ...(as === null ? [] : ['--as', as]), ...(json ? ['--json'] : [])],
    rest,
  );
}

/** Starts an identity server over real gRPC whose operator calls are handled by `handlers`. */
async function identityServer(t: ExecutionContext, handlers: Partial<AdminServiceImplementation<MeshContext>>) {
  const { address } = await serveStub(t, AdminServiceDefinition, handlers, { callers: createCallers(operatorKey) });
  return { address, env: { OPERATOR_KEY: operatorKey.toString('base64'), IDENTITY_RPC_URL: address } };
}

const tenant = {
  id: 7,
  name: 'Ada’s Workspace',
  plan: 'DEV',
  ownerId: 3,
  ownerEmail: 'ada@example.test',
  billingAccount: 'PLATFORM',
  createdAt: new Date('2026-01-31T12:00:00.250Z'),
};

test('every command calls an existing method with existing fields, and every method has a command', async (t) => {
  const calls: [string, object][] = [];
  const handlersOf = ({ methods }: { methods: object }) =>
    Object.fromEntries(
      Object.keys(methods).map((name) => [
        name,
        async (request: object) => {
          calls.push([name, request]);
          return {};
        },
      ]),
    );
  const handlers = handlersOf(AdminServiceDefinition);
  const { env: ofIdentity } = await identityServer(t, handlers);
  const callers = createCallers(operatorKey);
  const actionService = await serveStub(t, ActionAdminDefinition, handlersOf(ActionAdminDefinition), { callers });
  const sessionService = await serveStub(t, SessionAdminDefinition, handlersOf(SessionAdminDefinition), { callers });
  const env = { ...ofIdentity, ACTION_RPC_URL: actionService.address, SESSION_RPC_URL: sessionService.address };
  const values: Record<string, string> = {
    TENANT: '7',
    USER: '3',
    PLAN: 'PRO',
    USD: '25.5',
    QUOTA: 'chunks',
    AMOUNT: '20000',
    NAME: 'KEY',
    CONTACT: 'a@b.test',
    PARTNER: 'PARTNER_A',
    DELIVERY: '41',
  };
  for (const [usage] of adminCommands) {
    const { name, wanted } = wordsOf(usage);
    const words = [...name, ...wanted.map((word) => values[word] ?? word)];
    const { code, stderr } = await typed(words.join(' '), { env, input: 'hush\n' });
    t.deepEqual({ code, stderr }, { code: 0, stderr: '' }, usage);
  }
  t.deepEqual(
    calls.map(([name, request]) => [
      name,
      JSON.parse(JSON.stringify(request, (_, v) => (typeof v === 'bigint' ? `${v}` : v))),
    ]),
    [
      ['listTenants', { name: '', owner: '', first: 0, after: 0 }],
      ['listUsers', { email: '', phone: '', first: 0, after: 0 }],
      ['setTenantSuspension', { tenantId: 7, suspended: true }],
      ['setTenantSuspension', { tenantId: 7, suspended: false }],
      ['setPlan', { tenantId: 7, plan: 'PRO' }],
      ['setMonthlyCap', { tenantId: 7, monthlyCapUsdE8: '2550000000' }],
      ['setMonthlyCap', { tenantId: 7 }],
      ['setQuota', { tenantId: 7, quota: 'chunks', amount: 20_000 }],
      ['setQuota', { tenantId: 7, quota: 'chunks' }],
      ['setIdpOneBilling', { tenantId: 7, confirmed: true }],
      ['setIdpOneBilling', { tenantId: 7, confirmed: false }],
      ['passOwnership', { tenantId: 7, userId: 3 }],
      ['getTenantUsage', { tenantId: 7 }],
      ['listTenantSecrets', { tenantId: 7 }],
      ['putTenantSecret', { tenantId: 7, name: 'KEY', value: 'hush' }],
      ['removeTenantSecret', { tenantId: 7, name: 'KEY' }],
      ['setUserSuspension', { userId: 3, suspended: true }],
      ['setUserSuspension', { userId: 3, suspended: false }],
      ['revokeSignIns', { userId: 3 }],
      ['removeTwoFactor', { userId: 3 }],
      ['issueInvitation', { contact: 'a@b.test' }],
      ['listSigningKeys', {}],
      ['rotateAccessTokenKey', {}],
      ['listPartnerCredentials', { tenantId: 7 }],
      ['putPartnerCredential', { tenantId: 7, partner: 'PARTNER_A', value: 'hush' }],
      ['removePartnerCredential', { tenantId: 7, partner: 'PARTNER_A' }],
      ['createPartnerAction', { tenantId: 7, source: '', name: '', url: '', method: '', description: '', schema: '' }],
      ['listAudit', { first: 0, before: 0 }],
      ['listSyncDeliveries', { tenantId: 7, status: '', first: 0, before: 0 }],
      ['redeliverSync', { tenantId: 7, deliveryId: 41 }],
      ['listAudit', { first: 0, before: 0 }],
      ['listAudit', { first: 0, before: 0 }],
    ],
  );
  const all = [AdminServiceDefinition, ActionAdminDefinition, SessionAdminDefinition].flatMap(({ methods }) =>
    Object.keys(methods),
  );
  t.deepEqual([...new Set(calls.map(([name]) => name))].sort(), [...new Set(all)].sort());
  t.deepEqual(
    readMethods().filter(({ parent }) => parent.name === 'AdminService'),
    [],
  );
  t.is(readOperatorMethods().length, all.length);
});

test('filters narrow a list, and the signed caller names the operator', async (t) => {
  const asked: object[] = [];
  const callers: Caller[] = [];
  const { env } = await identityServer(t, {
    async listTenants(request, { caller }) {
      asked.push(request);
      callers.push(caller);
      return {};
    },
  });
  const filters = { id: '7', name: 'Ada', owner: 'a@b.test', first: '2', after: '5' };
  await typed('tenants', { env, filters });
  await typed('tenants', { env, as: null });
  t.deepEqual(asked[0], { id: 7, name: 'Ada', owner: 'a@b.test', first: 2, after: 5 });
  t.like(callers, [
    { kind: 'operator', displayName: 'ada', tenantId: null },
    { kind: 'operator', displayName: userInfo().username },
  ]);
  t.not(callers[0]?.requestId, callers[1]?.requestId);
});

test('--json prints the response as protobuf JSON, the same for every call', async (t) => {
  const { env } = await identityServer(t, {
    listTenants: async () => ({ tenants: [{ ...tenant, monthlyCapUsdE8: 2n ** 60n }], nextAfter: 7 }),
    removeTenantSecret: async () => ({}),
  });
  const { code, stdout, stderr } = await typed('tenants', { env, json: true });
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  t.is(
    stdout,
    `{
  "tenants": [
    {
      "id": 7,
      "name": "Ada’s Workspace",
      "plan": "DEV",
      "region": "",
      "ownerId": 3,
      "ownerEmail": "ada@example.test",
      "suspendedByTenant": false,
      "suspendedByOperator": false,
      "billingAccount": "PLATFORM",
      "idpOneBillingConfirmed": false,
      "monthlyCapUsdE8": "1152921504606846976",
      "createdAt": "2026-01-31T12:00:00.250Z"
    }
  ],
  "nextAfter": 7
}
`,
  );
  t.is((await typed('tenants', { env, json: true })).stdout, stdout);
  t.is((await typed('remove-secret 7 KEY', { env, json: true })).stdout, '{}\n');
});

test('without --json, output has tables without empty columns, amounts in USD and the command for the next page', async (t) => {
  const { env } = await identityServer(t, {
    listTenants: async ({ name }) => ({
      tenants:
        name === ''
          ? [tenant, { ...tenant, id: 12, name: 'B', suspendedByOperator: true, monthlyCapUsdE8: 2_550_000_000n }]
          : [],
      ...(name === '' && { nextAfter: 12 }),
    }),
    listUsers: async () => ({ users: [{ id: 3, email: 'a@b.test', twoFactor: true, signIns: 2, ownerOf: [7, 9] }] }),
    setPlan: async () => ({ tenant: { ...tenant, plan: 'PRO' } }),
    getTenantUsage: async () => ({
      monthlyCapUsdE8: 1_000_000_000n,
      months: [{ month: '2026-01', spentUsdE8: 123n, reservedUsdE8: 0n, estimatedUsdE8: 23n }],
    }),
    removeTenantSecret: async () => ({}),
  });
  const shown = async (words: string, options: Typing = {}) => (await typed(words, { env, ...options })).stdout;
  t.is(
    await shown('tenants'),
    `id  name             plan  owner id  owner email       suspended by operator  billing account  monthly cap usd  created at
7   Ada’s Workspace  DEV   3         ada@example.test                         PLATFORM                          2026-01-31T12:00:00.250Z
12  B                DEV   3         ada@example.test  yes                    PLATFORM         25.50            2026-01-31T12:00:00.250Z

more: --after 12
`,
  );
  t.is(await shown('tenants', { filters: { name: 'x' } }), 'none\n');
  t.is(
    await shown('users'),
    'id  email     two factor  sign ins  owner of\n3   a@b.test  yes         2         7, 9\n',
  );
  t.is(
    await shown('set-plan 7 PRO'),
    `id  name             plan  owner id  owner email       billing account  created at
7   Ada’s Workspace  PRO   3         ada@example.test  PLATFORM         2026-01-31T12:00:00.250Z
`,
  );
  t.is(
    await shown('usage 7'),
    'monthly cap usd: 10.00\n\nmonths\nmonth    spent usd   reserved usd  estimated usd\n2026-01  0.00000123  0.00          0.00000023\n\ncounts\nnone\n',
  );
  t.is(await shown('remove-secret 7 KEY'), 'done\n');
});

test("names that users chose cannot move the cursor in an operator's terminal", async (t) => {
  const name = 'a\u001b[2Jb\u009b1mc\u202ed\ne';
  const { env } = await identityServer(t, { listTenants: async () => ({ tenants: [{ ...tenant, name }] }) });
  const { stdout } = await typed('tenants', { env });
  t.true(stdout.includes('a\ufffd[2Jb\ufffd1mc\ufffdd\ufffde'));
  const { stdout: json } = await typed('tenants', { env, json: true });
  for (const obeyed of ['\u001b', '\u009b', '\u202e']) t.false(json.includes(obeyed));
  t.is(JSON.parse(json).tenants[0].name, name);
});

test('a refusal is a sentence, and JSON with --json', async (t) => {
  const { env } = await identityServer(t, {
    async setPlan({ tenantId }) {
      if (tenantId === 1) throw invalid({ path: 'plan', message: 'must be DEV, PRO or ENTERPRISE' });
      throw notFound('Tenant', tenantId);
    },
  });
  const seen = await typed('set-plan 9 PRO', { env });
  t.deepEqual(seen, { code: 1, stdout: '', stderr: 'Tenant 9 not found (NOT_FOUND)\n' });
  const { code, stdout, stderr } = await typed('set-plan 1 GOLD', { env, json: true });
  t.deepEqual({ code, stdout }, { code: 1, stdout: '' });
  t.like(JSON.parse(stderr), {
    code: 'INVALID_ARGUMENT',
    message: 'plan must be DEV, PRO or ENTERPRISE',
    fields: [{ path: 'plan', message: 'must be DEV, PRO or ENTERPRISE' }],
  });
});

test("a key other than identity's is refused, and no key is printed", async (t) => {
  const { env } = await identityServer(t, { listAudit: async () => t.fail('must not be reached') });
  const OPERATOR_KEY = randomBytes(32).toString('base64');
  const { code, stderr } = await typed('audit', { env: { ...env, OPERATOR_KEY } });
  t.is(code, 1);
  t.regex(stderr, /UNAUTHENTICATED/);
  t.false(stderr.includes(OPERATOR_KEY));
  t.is((await typed('audit', { env: { ...env, IDENTITY_RPC_URL: '127.0.0.1:1' } })).code, 1);
});

test('a running mesh is found by its data folder, which the environment overrides', async (t) => {
  const { address, env } = await identityServer(t, { listAudit: async () => ({}) });
  const PARLEY_DATA_DIR = mkdtempSync(join(tmpdir(), 'parley-admin-'));
  t.teardown(() => rmSync(PARLEY_DATA_DIR, { recursive: true }));
  t.like(await typed('audit', { env: { PARLEY_DATA_DIR, IDENTITY_RPC_URL: address } }), { code: 2 });
  writeFileSync(join(PARLEY_DATA_DIR, 'keys.json'), JSON.stringify({ MESH_KEY: 'x', OPERATOR_KEY: env.OPERATOR_KEY }));
  writeFileSync(join(PARLEY_DATA_DIR, 'addresses.json'), JSON.stringify({ identity: { rpc: address } }));
  t.is((await typed('audit', { env: { PARLEY_DATA_DIR } })).stdout, 'none\n');
  const OPERATOR_KEY = randomBytes(32).toString('base64');
  t.is((await typed('audit', { env: { PARLEY_DATA_DIR, OPERATOR_KEY } })).code, 1);
});

test('invalid arguments are refused without a call', async (t) => {
  const { env } = await identityServer(t, {});
  const { IDENTITY_RPC_URL } = env;
  const wrong: [string, RegExp, Typing?][] = [
    ['nothing', /There is no nothing\. See scripts\/admin --help/],
    ['suspend', /There is no suspend\./],
    ['ListTenants', /There is no ListTenants\./],
    ['set-plan 7', /Type it as: scripts\/admin set-plan TENANT PLAN/],
    ['set-secret 7 KEY hush', /Type it as: scripts\/admin set-secret TENANT NAME < VALUE/, { input: 'canary' }],
    ['set-plan x PRO', /tenant_id .*expected number/],
    ['set-plan 2147483648 PRO', /tenant_id .*out of range/],
    ['set-cap 7 x', /USD must be an amount such as 25 or 25\.50/],
    ['set-cap 7 -1', /Unknown option '-1'/],
    ['set-cap 7 0x1', /USD must be an amount/],
    ['set-quota 7 chunks 5 6', /Unexpected argument: 6/],
    ['set-cap 7 1.234', /USD must be an amount/],
    ['set-cap 7 1e5', /USD must be an amount/],
    ['suspend-tenant 7', /key "tenant" is unknown/, { filters: { tenant: '8' } }],
    [
      'tenants',
      /key "email" is unknown; parley\/identity\/v1\/admin\.proto has its fields/,
      { filters: { email: 'a' } },
    ],
    ['audit', /OPERATOR_KEY: is missing/, { env: { IDENTITY_RPC_URL, PARLEY_DATA_DIR: '/nowhere' } }],
    ['audit', /OPERATOR_KEY: must be at least 32 bytes/, { env: { ...env, OPERATOR_KEY: 'c2hvcnQ=' } }],
    ['audit', /Where is identity\?/, { env: { OPERATOR_KEY: env.OPERATOR_KEY, PARLEY_DATA_DIR: '/nowhere' } }],
  ];
  for (const [words, reason, typing] of wrong) {
    const { code, stdout, stderr } = await typed(words, { env, ...typing });
    t.deepEqual({ code, stdout }, { code: 2, stdout: '' }, words);
    t.regex(stderr, reason);
    t.false(stderr.includes('canary') || stderr.includes(env.OPERATOR_KEY));
  }
});
