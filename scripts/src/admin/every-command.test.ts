import { randomBytes, randomUUID } from 'node:crypto';
import { adminCommands, wordsOf } from '@parley/commands/admin/commands';
import { newAccount } from '@parley/stories/client';
import { idsOf } from '@parley/stories/credentials';
import { type Delivery, waitingDelivery } from '@parley/stories/external-sync';
import { enter, newProviderAccount } from '@parley/stories/identity-provider';
import type { TestMesh } from '@parley/stories/mesh';
import { stories } from '@parley/stories/stories';
import test from 'ava';
import { startChild } from '../testing/child.ts';
import { typed } from './testing/typed.ts';

const story = stories(test);

interface Row {
  /** Options that follow the documented arguments, in this order. */
  options?: Record<string, string | number>;
  /** A command that must run before this one, each time. */
  after?: string;
  /** The complete response as JSON; values that differ between runs are `…`. */
  answer: object;
  /** Selects the part of the response that other tests cannot change. */
  part?: (answer: Record<string, object[]>) => object;
  /** The command only reads, so it writes no audit entry. */
  isRead?: true;
  /**
   * For a command of action or session: the action of its entry in that service's audit. Other commands have an entry in identity's audit,
   * under their own names.
   */
  audits?: string;
}

/** Creates a company with its owner and a member, and a user of another tenant. All three have signed in once. */
async function people(mesh: TestMesh) {
  const name = `Company ${randomUUID()}`;
  const account = () => newProviderAccount({ company: { id: name, name } });
  const [owner, member] = [account(), account()];
  const ownerClient = await enter(mesh, owner);
  const { tenantId, userId: ownerId } = await idsOf(ownerClient);
  const { userId } = await idsOf(await enter(mesh, member));
  const delivery = steady(await waitingDelivery(ownerClient));
  const ada = await mesh.person();
  const { phoneCode, phoneNumber, ...registered } = ada.account ?? newAccount();
  const other = { ...(await idsOf(ada)), ...registered, phone: `${phoneCode}${phoneNumber}` };
  return { name, tenantId, ownerId, userId, ownerEmail: owner.email ?? '', email: member.email ?? '', other, delivery };
}

type People = Awaited<ReturnType<typeof people>>;

/** Returns the values for the placeholders in the documentation. */
function valuesOf({ tenantId, userId, email, delivery }: People): Record<string, string> {
  return {
    TENANT: `${tenantId}`,
    USER: `${userId}`,
    PLAN: 'PRO',
    USD: '25.50',
    QUOTA: 'knowledge-bases',
    AMOUNT: '70',
    NAME: 'KEY',
    CONTACT: `friend-of-${email}`,
    PARTNER: 'PARTNER_A',
    DELIVERY: `${delivery.id}`,
  };
}

/** Returns a row for every command, in the order of the documentation, which is also the order of the test. */
function rowsOf({ name, tenantId, ownerId, ownerEmail, userId, email, other, delivery }: People): Record<string, Row> {
  const before = {
    id: tenantId,
    name,
    plan: 'DEV',
    region: '',
    ownerId,
    ownerEmail,
    suspendedByTenant: false,
    suspendedByOperator: false,
    billingAccount: 'PLATFORM',
    idpOneBillingConfirmed: false,
    createdAt: '…',
  };
  const raised = { ...before, plan: 'PRO' };
  const user = {
    id: userId,
    email,
    phone: '',
    fullname: 'Grace Hopper',
    status: 'ACTIVE',
    twoFactor: false,
    signIns: 0,
    ownerOf: [tenantId],
    memberOf: [],
    createdAt: '…',
  };
  const key = { kid: '…', state: '…', createdAt: '…', signsFrom: '…' };
  const passed = { id: '…', at: '…', operator: name, action: 'pass-ownership', tenantId, userId, requestId: '…' };
  const madeAction = {
    id: '…',
    name: 'Orders',
    source: 'PARTNER_A',
    method: 'GET',
    url: 'https://example.com/orders',
  };
  const created = { id: '…', at: '…', action: 'create-action', requestId: '…' };
  return {
    tenants: {
      options: { id: tenantId, name, owner: ownerEmail, first: 2, after: tenantId - 1 },
      answer: { tenants: [before] },
      isRead: true,
    },
    users: {
      options: {
        id: other.userId,
        email: other.email,
        phone: other.phone,
        tenant: other.tenantId,
        first: 2,
        after: other.userId - 1,
      },
      answer: {
        users: [
          {
            ...user,
            id: other.userId,
            email: other.email,
            phone: other.phone,
            fullname: other.fullname,
            signIns: 1,
            ownerOf: [other.tenantId],
            memberOf: [],
          },
        ],
      },
      isRead: true,
    },
    'suspend-tenant': { answer: { tenant: { ...before, suspendedByOperator: true } } },
    'restore-tenant': { answer: { tenant: before } },
    'set-plan': { answer: { tenant: raised } },
    'set-cap': { answer: { tenant: { ...raised, monthlyCapUsdE8: '2550000000' } } },
    'clear-cap': { answer: { tenant: raised } },
    'set-quota': { answer: { tenant: { ...raised, knowledgeBases: 70 } } },
    'clear-quota': { answer: { tenant: raised } },
    'confirm-billing': { answer: { tenant: { ...raised, idpOneBillingConfirmed: true } } },
    'withdraw-billing': { answer: { tenant: raised } },
    'pass-ownership': { answer: { tenant: { ...raised, ownerId: userId, ownerEmail: email } } },
    usage: { answer: { monthlyCapUsdE8: '20000000000', months: [], counts: [] }, isRead: true },
    secrets: {
      after: 'set-secret',
      answer: { secrets: [{ name: 'KEY', createdAt: '…', updatedAt: '…' }] },
      isRead: true,
    },
    'set-secret': { answer: {} },
    'remove-secret': { after: 'set-secret', answer: {} },
    'suspend-user': { answer: { user: { ...user, status: 'SUSPENDED' } } },
    'restore-user': { answer: { user } },
    'revoke-sign-ins': { answer: { user } },
    'remove-two-factor': { answer: { user } },
    invite: { answer: { sentTo: `friend-of-${email}` } },
    keys: { answer: { keys: [key] }, part: ({ keys }) => ({ keys: keys?.slice(0, 1) }), isRead: true },
    'rotate-key': { answer: { key } },
    'partner list': {
      after: 'partner set',
      answer: { credentials: [{ partner: 'PARTNER_A', updatedAt: '…' }] },
      isRead: true,
    },
    'partner set': { answer: {}, audits: 'set-partner' },
    'partner remove': { after: 'partner set', answer: {}, audits: 'remove-partner' },
    'action create': {
      options: {
        source: 'PARTNER_A',
        name: 'Orders',
        url: 'https://example.com/orders',
        method: 'GET',
        description: 'Lists them',
        schema: '{"type":"object"}',
      },
      answer: { action: { ...madeAction, tenantId } },
      audits: 'create-action',
    },
    'action audit': {
      options: { tenant: tenantId, first: 1, before: 2_147_483_647 },
      answer: { entries: [{ ...created, tenantId, operator: name, factsJson: undefined }] },
      part: ({ entries = [] }) => ({ entries: entries.map((entry) => ({ ...entry, factsJson: undefined })) }),
      isRead: true,
    },
    'sync list': {
      options: { agent: delivery.agentId ?? 0, status: 'PENDING', first: 1, before: 2_147_483_647 },
      answer: { deliveries: [delivery] },
      part: ({ deliveries = [] }) => ({ deliveries: deliveries.map(steady) }),
      isRead: true,
    },
    'sync redeliver': {
      answer: { delivery },
      part: ({ delivery: answered }) => ({ delivery: steady(answered) }),
      audits: 'redeliver',
    },
    'sync audit': {
      options: { tenant: tenantId, first: 1, before: 2_147_483_647 },
      answer: { entries: [{ operator: name, action: 'redeliver', tenantId }] },
      part: ({ entries = [] }) => ({
        entries: entries.map((entry) => ({
          operator: name,
          action: 'redeliver',
          tenantId: (entry as { tenantId?: number }).tenantId,
        })),
      }),
      isRead: true,
    },
    audit: {
      options: { tenant: tenantId, user: userId, first: 1, before: 2_147_483_647 },
      answer: { entries: [{ ...passed, factsJson: '{}' }], nextBefore: '…' },
      isRead: true,
    },
  };
}

/** Returns a delivery without the fields that change with each attempt. */
function steady(delivery: object = {}) {
  const { id, agentId, sessionId, webhookId, status } = delivery as Partial<Delivery>;
  return { id, agentId, sessionId, webhookId, status };
}

const nameOf = (command: string) => wordsOf(command).name.join(' ');

/** Returns the arguments of a command, as documented. */
function argsOf(command: string, { options = {} }: Row, values: Record<string, string>): string[] {
  const { name, wanted } = wordsOf(command);
  return [
    ...name,
    ...wanted.map((word) => values[word] ?? word),
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]),
  ];
}

const volatile = new Set(['kid', 'state', 'requestId', 'nextBefore', 'at', 'createdAt', 'updatedAt', 'signsFrom']);

/** Parses a response and masks the values that differ between runs. */
function masked(json: string): Record<string, object[]> {
  return JSON.parse(json, function (this: object, key, value) {
    return volatile.has(key) || (key === 'id' && ('requestId' in this || 'source' in this)) ? '…' : value;
  });
}

story('every command does what is documented, answers in JSON and leaves an audit', async (t, mesh) => {
  const given = await people(mesh);
  const { name: operator } = given;
  const [rows, values] = [rowsOf(given), valuesOf(given)];
  t.deepEqual(
    adminCommands.map(([command]) => nameOf(command)),
    Object.keys(rows),
    'each command has its row',
  );
  const { OPERATOR_KEY } = mesh.settings;
  const [IDENTITY_RPC_URL] = mesh.addresses('identity', 'rpc');
  const [ACTION_RPC_URL] = mesh.addresses('action', 'rpc');
  const [SESSION_RPC_URL] = mesh.addresses('session', 'rpc');
  const env = { OPERATOR_KEY, IDENTITY_RPC_URL, ACTION_RPC_URL, SESSION_RPC_URL };
  const asOperator = (...args: string[]) => typed([...args, '--as', operator], { env, input: 'hush\n' });
  async function succeeds(...args: string[]): Promise<string> {
    const { stdout, ...ended } = await asOperator(...args);
    t.deepEqual(ended, { code: 0, stderr: '' }, args.join(' '));
    return stdout;
  }

  for (const [command, , does] of adminCommands) {
    const name = nameOf(command);
    const row = rows[name] ?? { answer: {} };
    const args = argsOf(command, row, values);
    for (const [option] of does.matchAll(/--\w+/gu)) t.true(args.includes(option), `${name} ${option}`);
    const before = adminCommands.flatMap(([each]) =>
      nameOf(each) === row.after ? [argsOf(each, { answer: {} }, values)] : [],
    );

    for (const words of before) await succeeds(...words);
    t.regex(await succeeds(...args), /^[^{]\w/u, `${name} for people`);
    for (const words of before) await succeeds(...words);
    const answer = masked(await succeeds(...args, '--json'));
    t.deepEqual(row.part?.(answer) ?? answer, row.answer, name);

    const stranger = randomBytes(32).toString('base64');
    const refused = await typed([...args, '--as', 'a stranger'], {
      env: { ...env, OPERATOR_KEY: stranger },
      input: 'hush\n',
    });
    t.like(refused, { code: 1, stdout: '' }, name);
    t.regex(refused.stderr, /UNAUTHENTICATED/u, name);
    const withoutKey = { IDENTITY_RPC_URL, ACTION_RPC_URL, SESSION_RPC_URL, PARLEY_DATA_DIR: '/nowhere' };
    t.like(await typed(args, { env: withoutKey, input: 'hush\n' }), { code: 2, stdout: '' }, name);
  }

  const { entries } = JSON.parse(await succeeds('audit', '--first', '200', '--json'));
  const ours = (entries as { operator: string; action: string }[]).filter((entry) => entry.operator === operator);
  const changing = Object.keys(rows).filter((name) => !(rows[name]?.isRead || rows[name]?.audits));
  t.deepEqual([...new Set(ours.map(({ action }) => action))].sort(), changing.sort());
  t.deepEqual(
    entries.filter((entry: { operator: string }) => entry.operator === 'a stranger'),
    [],
  );

  const { entries: ofAction } = JSON.parse(await succeeds('action', 'audit', '--first', '200', '--json'));
  const { entries: ofSession } = JSON.parse(await succeeds('sync', 'audit', '--first', '200', '--json'));
  const audited = ([...ofAction, ...ofSession] as { operator: string; action: string }[]).filter(
    (entry) => entry.operator === operator,
  );
  t.deepEqual(
    [...new Set(audited.map(({ action }) => action))].sort(),
    Object.values(rows)
      .flatMap(({ audits }) => audits ?? [])
      .sort(),
  );
  t.false(JSON.stringify(ofAction).includes('hush'), 'no credential is in the audit');

  const child = startChild(t, 'admin', {
    args: argsOf('set-quota TENANT QUOTA AMOUNT', { answer: {} }, values),
    env: { OPERATOR_KEY: OPERATOR_KEY ?? '', IDENTITY_RPC_URL: IDENTITY_RPC_URL ?? '' },
  });
  t.is(await child.ended, 0, child.stderr);
  t.regex(child.stdout, /knowledge bases/u);
});
