import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { type ActionUnit, actionUnit, inTenant, operator } from './action-unit.ts';
import { restServer, sendJson } from './custom-actions/rest-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

const fields =
  'id name description url method argsSchema extraHeaders credentialSecretHeaderName credentialSource createdAt updatedAt';
const update = `mutation ($input: UpdateCustomActionInput!) { updateCustomAction(input: $input) { ${fields} } }`;
const remove = 'mutation ($id: Int!) { deleteCustomAction(id: $id) }';

const change = async (unit: ActionUnit, input: object, tenantId = 1) =>
  (await unit.ask(tenantId, update, { input }))['updateCustomAction'] as Record<string, unknown>;

test('an action is created, listed, updated (with omitted, null and empty fields) and deleted', async (t) => {
  const unit = await actionUnit(t);
  const argsSchema = { type: 'object', properties: { z: {}, a: {} }, required: ['z'] };
  const id = await unit.createAction(1, {
    url: 'https://example.com/{z}',
    argsSchema,
    extraHeaders: { 'X-B': 'b', 'X-A': 'a' },
    bearerToken: 'canary-token',
    credentialSecretHeaderName: 'X-Key',
  });
  const { customActions } = await unit.ask(1, `{ customActions { ${fields} } }`);
  const [listed] = customActions as Record<string, unknown>[];
  t.like(listed, {
    id,
    method: 'POST',
    credentialSecretHeaderName: 'X-Key',
    credentialSource: null,
    description: null,
  });
  t.is(JSON.stringify(listed?.['argsSchema']), JSON.stringify(argsSchema), 'in its order');
  t.deepEqual((await unit.ask(2, '{ customActions { id } }'))['customActions'], []);

  t.like(await change(unit, { id, description: 'Says it' }), { description: 'Says it', extraHeaders: { 'X-B': 'b' } });
  t.like(await change(unit, { id, description: null, extraHeaders: {}, credentialSecretHeaderName: null }), {
    description: null,
    extraHeaders: null,
    credentialSecretHeaderName: null,
  });
  await unit.ask(1, remove, { id });
  for (const gone of [unit.ask(1, remove, { id }), change(unit, { id, name: 'x' })])
    t.like(await t.throwsAsync(gone), { code: 'NOT_FOUND' });
});

test('credentials appear in no response, are stored sealed, and are deleted when no longer used', async (t) => {
  const unit = await actionUnit(t);
  const ids = [
    await unit.createAction(1, { url: 'https://example.com', bearerToken: 'canary-token' }),
    await unit.createAction(1, {
      url: 'https://example.com',
      messagingAppId: 'canary-app',
      messagingAppSecret: 'canary-secret',
    }),
    await unit.createAction(1, { url: 'https://example.com', bearerToken: 'canary-other' }),
  ];
  const rows = () =>
    unit.database.transact(
      1,
      async ({ knex }) => (await knex('custom_actions').orderBy('id')) as Record<string, unknown>[],
    );
  t.false(JSON.stringify((await rows()).map((row) => Object.values(row).map(String))).includes('canary'));
  t.true((await rows()).every(({ credentialSealed }) => credentialSealed !== null));

  await change(unit, { id: ids[0], credentialSource: 'SESSION_PARTNER_A' });
  await unit.ask(1, remove, { id: ids[1] });
  t.deepEqual(
    (await rows()).map(({ credentialSealed }) => credentialSealed !== null),
    [false, false, true],
  );
  t.like(await change(unit, { id: ids[0], credentialSource: null }), { credentialSource: null });
});

test("concurrent updates are all kept, and concurrent creations respect the tenant's limit", async (t) => {
  const unit = await actionUnit(t, { env: { ACTION_MAX_ACTIONS: '3' } });
  const id = await unit.createAction(1, { url: 'https://example.com' });
  await Promise.all([change(unit, { id, name: 'Named' }), change(unit, { id, description: 'Described' })]);
  t.like(await change(unit, { id }), { name: 'Named', description: 'Described' });
  const made = await Promise.allSettled(
    Array.from({ length: 6 }, () => unit.createAction(1, { url: 'https://example.com' })),
  );
  t.is(made.filter(({ status }) => status === 'fulfilled').length, 2);
});

test("a partner credential that an operator provisions is sent with the tenant's actions and never shown", async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, ({ headers }, response) => sendJson(response, 200, { said: headers.authorization }));
  const { admin } = unit;
  const as = { caller: operator };
  const made = await admin.createPartnerAction(
    { tenantId: 1, source: 'PARTNER_A', name: 'Orders', url: `${rest.url}/orders`, method: 'GET', schema: '' },
    as,
  );
  const id = made.action?.id ?? 0;
  t.like(await unit.callAction(1, id), { errorKind: 'CREDENTIAL_MISSING' });
  await admin.putPartnerCredential({ tenantId: 1, partner: 'PARTNER_A', value: 'canary-partner' }, as);
  t.like(await unit.callAction(1, id), { errorKind: '', body: { value: '{"said":"Bearer [credential]"}' } });
  t.is(rest.seen[0]?.headers.authorization, 'Bearer canary-partner');
  const foreign = await unit.createAction(2, { url: rest.url });
  t.like(await unit.callAction(1, foreign), { errorKind: 'NOT_FOUND' });

  for (const input of [
    { id, url: 'https://example.com' },
    { id, method: 'POST' },
    { id, credentialSource: null },
  ])
    t.like(await t.throwsAsync(change(unit, input)), { code: 'BAD_REQUEST' });
  t.like(await change(unit, { id, url: `${rest.url}/orders`, method: 'GET', name: 'Renamed' }), { name: 'Renamed' });

  const { credentials } = await admin.listPartnerCredentials({ tenantId: 1 }, as);
  t.deepEqual(
    credentials.map(({ partner }) => partner),
    ['PARTNER_A'],
  );
  await admin.removePartnerCredential({ tenantId: 1, partner: 'PARTNER_A' }, as);
  t.like(await unit.callAction(1, id), { errorKind: 'CREDENTIAL_MISSING' });

  const expected = { ...as, expectedErrors: ['notFound' as const, 'invalid' as const, 'forbidden' as const] };
  const again = admin.removePartnerCredential({ tenantId: 1, partner: 'PARTNER_A' }, expected);
  t.like(await t.throwsAsync(again), { kind: 'notFound' });
  const absent = admin.putPartnerCredential({ tenantId: 100, partner: 'PARTNER_A', value: 'canary' }, expected);
  t.like(await t.throwsAsync(absent), { kind: 'notFound' });
  const bad = await t.throwsAsync(
    admin.putPartnerCredential({ tenantId: 1, partner: 'PARTNER_X', value: 'canary\n' }, expected),
  );
  t.like(bad, { kind: 'invalid' });
  t.false(JSON.stringify(bad).includes('canary'));
  const user = admin.listPartnerCredentials({ tenantId: 1 }, { ...expected, caller: inTenant(1) });
  t.like(await t.throwsAsync(user), { kind: 'forbidden' });

  const { entries } = await admin.listAudit({ tenant: 1 }, as);
  t.deepEqual(
    entries.map(({ action, operator }) => [action, operator]),
    [
      ['remove-partner', 'ada'],
      ['set-partner', 'ada'],
      ['create-action', 'ada'],
    ],
  );
  t.false(JSON.stringify(entries).includes('canary'));
});

test("the operator's catalogue is listed by key, and an invalid one fails the start", async (t) => {
  const file = join(temporaryFolder(t), 'operations.json');
  const operation = {
    key: 'b',
    name: 'Orders',
    method: 'GET',
    url: 'https://example.com/orders',
    compatibleCredentialSources: ['PARTNER_A', 'SESSION_PARTNER_A'],
  };
  writeFileSync(
    file,
    JSON.stringify([operation, { ...operation, key: 'a', description: 'Lists them', argsSchema: {} }]),
  );
  const unit = await actionUnit(t, { env: { CERTIFIED_OPERATIONS_FILE: file } });
  const { certifiedOperations } = await unit.ask(
    1,
    '{ certifiedOperations { key name description method url argsSchema compatibleCredentialSources } }',
  );
  t.deepEqual(certifiedOperations, [
    { ...operation, key: 'a', description: 'Lists them', argsSchema: {} },
    { ...operation, description: null, argsSchema: null },
  ]);
  for (const [content, said] of [
    ['{', /is not JSON/u],
    ['[{}]', /0\.key/u],
    [JSON.stringify([operation, operation]), /has the key b twice/u],
  ] as const) {
    writeFileSync(file, content);
    await t.throwsAsync(actionUnit(t, { env: { CERTIFIED_OPERATIONS_FILE: file } }), { message: said });
  }
});
