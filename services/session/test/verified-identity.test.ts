import type { TenantCaller } from '@parley/kernel/caller';
import test from 'ava';
import { inTenant, isReply, type SessionMesh, sessionMesh, subscribe } from './session-mesh.ts';

const byKey: TenantCaller = { kind: 'apiKey', tenantId: 1, apiKeyId: 1, requestId: 'test' };
const byToken = (sessionId: number): TenantCaller => ({ kind: 'session', tenantId: 1, sessionId, requestId: 'test' });
const grace = { subject: 's-1', verifiedEmail: 'grace@example.com', fullname: 'Grace Hopper', company: 'Acme' };
const inProduct = (subject: string) => ({ subject, verifiedEmail: '', fullname: 'User', company: '' });

async function embedded(mesh: SessionMesh): Promise<number> {
  return (await mesh.app.sdkStart(byKey, { agentId: 1 })).sessionId;
}

test('a ticket identifies the person, and later turns get the identity with the linked products', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, agent, tickets } = mesh;
  const sessionId = await embedded(mesh);
  const subscriber = subscribe(t, app, sessionId, { after: '0' });
  await subscriber.until('the greeting', isReply);
  tickets.set('person', grace).set('a', inProduct('a-7')).set('b', inProduct('b-8'));
  const result = await app.verifyIdpIdentity(byToken(sessionId), {
    sessionId,
    ticket: 'person',
    productTickets: [
      { product: 'PARTNER_A', ticket: 'a' },
      { product: 'PARTNER_B', ticket: 'b' },
    ],
  });
  const person = { subject: 's-1', email: 'grace@example.com', fullname: 'Grace Hopper', company: 'Acme' };
  t.deepEqual(result, { sessionId, ...person, linkedProducts: ['PARTNER_A', 'PARTNER_B'] });

  await app.sdkSendMessage(byToken(sessionId), { sessionId, text: 'Hi' });
  await subscriber.until('the reply', isReply, 2);
  t.is(agent.calls[0]?.request.identityJson, '');
  const { identityJson = '', linkedIdentities } = agent.calls[1]?.request ?? {};
  t.deepEqual(JSON.parse(identityJson), { ...person, linkedProducts: ['PARTNER_A', 'PARTNER_B'] });
  t.deepEqual(linkedIdentities, [
    { product: 'PARTNER_A', subject: 'a-7' },
    { product: 'PARTNER_B', subject: 'b-8' },
  ]);
});

test('the same person adds products, another person replaces them; an unverified email is null', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, tickets } = mesh;
  const sessionId = await embedded(mesh);
  const verify = (ticket: string, productTickets?: { product: string; ticket: string }[]) =>
    app.verifyIdpIdentity(byToken(sessionId), { sessionId, ticket, ...(productTickets && { productTickets }) });
  tickets.set('1', grace).set('2', grace).set('a', inProduct('a-7')).set('b', inProduct('b-8'));
  await verify('1', [{ product: 'PARTNER_A', ticket: 'a' }]);
  t.deepEqual((await verify('2', [{ product: 'PARTNER_B', ticket: 'b' }])).linkedProducts, ['PARTNER_A', 'PARTNER_B']);
  tickets.set('3', { ...inProduct('s-2') });
  t.deepEqual(await verify('3'), {
    sessionId,
    subject: 's-2',
    email: null,
    fullname: 'User',
    company: null,
    linkedProducts: [],
  });
});

test('a refused or used ticket changes nothing, and neither does invalid input', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, tickets } = mesh;
  const sessionId = await embedded(mesh);
  tickets.set('first', grace);
  await app.verifyIdpIdentity(byToken(sessionId), { sessionId, ticket: 'first' });
  const before = await app.findSession(inTenant(1), sessionId);
  const twice = [
    { product: 'P', ticket: 'a' },
    { product: 'P', ticket: 'b' },
  ];
  const many = Array.from({ length: 11 }, (_, n) => ({ product: `P${n}`, ticket: 'a' }));
  const refusals: [input: object, error: object][] = [
    [{ ticket: 'first' }, { kind: 'invalid', reason: 'TICKET_REFUSED', fields: [{ path: 'input.ticket' }] }],
    [{ ticket: 'provider away' }, { kind: 'unavailable' }],
    [{ ticket: ' ' }, { kind: 'invalid', fields: [{ path: 'input.ticket' }] }],
    [
      { ticket: 'x', productTickets: twice },
      { kind: 'invalid', fields: [{ path: 'input.productTickets' }] },
    ],
    [
      { ticket: 'x', productTickets: many },
      { kind: 'invalid', fields: [{ path: 'input.productTickets' }] },
    ],
  ];
  for (const [input, expected] of refusals) {
    const call = app.verifyIdpIdentity(byToken(sessionId), { sessionId, ticket: '', ...input });
    t.like(await t.throwsAsync(call), expected, JSON.stringify(input));
  }
  t.deepEqual((await app.findSession(inTenant(1), sessionId))?.identity, before?.identity);
});

for (const [what, second, reason] of [
  ['a product that is refused', 'unknown', 'TICKET_REFUSED'],
  ['a provider that is away for a product', 'provider away', undefined],
] as const) {
  test(`${what} keeps earlier results, and a retry of the call continues from them`, async (t) => {
    const mesh = await sessionMesh(t);
    const { app, tickets } = mesh;
    const sessionId = await embedded(mesh);
    const call = (b: string) =>
      app.verifyIdpIdentity(byToken(sessionId), {
        sessionId,
        ticket: 'person',
        productTickets: [
          { product: 'PARTNER_A', ticket: 'a' },
          { product: 'PARTNER_B', ticket: b },
        ],
      });
    tickets.set('person', grace).set('a', inProduct('a-7'));
    const error = await t.throwsAsync(call(second));
    t.like(error, reason ? { reason, fields: [{ path: 'input.productTickets.1.ticket' }] } : { kind: 'unavailable' });
    t.like((await app.findSession(inTenant(1), sessionId))?.identity, {
      subject: 's-1',
      products: [{ product: 'PARTNER_A', subject: 'a-7' }],
    });
    tickets.set('b', inProduct('b-8'));
    t.deepEqual((await call('b')).linkedProducts, ['PARTNER_A', 'PARTNER_B']);
    t.like(await t.throwsAsync(call('b')), { reason: 'TICKET_REFUSED' }, 'a call that is over is not repeated');
    t.deepEqual((await app.findSession(inTenant(1), sessionId))?.identity?.products, [
      { product: 'PARTNER_A', subject: 'a-7' },
      { product: 'PARTNER_B', subject: 'b-8' },
    ]);
  });
}

test('the tickets of a session are limited, also in concurrent calls, and other sessions are not affected', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, tickets } = mesh;
  const [sessionId, other] = [await embedded(mesh), await embedded(mesh)];
  const attempts = Array.from({ length: 60 }, (_, n) =>
    t.throwsAsync(app.verifyIdpIdentity(byToken(sessionId), { sessionId, ticket: `junk ${n}` })),
  );
  const kinds = (await Promise.all(attempts)).map((error) => (error as unknown as { kind: string }).kind);
  t.is(kinds.filter((kind) => kind === 'invalid').length, 50);
  t.is(kinds.filter((kind) => kind === 'tooManyRequests').length, 10);
  tickets.set('person', grace);
  const late = app.verifyIdpIdentity(byToken(sessionId), { sessionId, ticket: 'person' });
  t.like(await t.throwsAsync(late), { kind: 'tooManyRequests' });
  t.like(await app.verifyIdpIdentity(byToken(other), { sessionId: other, ticket: 'person' }), { subject: 's-1' });
});

test("a call with another session's token, or for an ended session, uses up no ticket", async (t) => {
  const mesh = await sessionMesh(t);
  const { app, tickets } = mesh;
  const [sessionId, other] = [await embedded(mesh), await embedded(mesh)];
  tickets.set('person', grace);
  const call = () => app.verifyIdpIdentity(byToken(sessionId), { sessionId: other, ticket: 'person' });
  t.like(await t.throwsAsync(call), { kind: 'forbidden' });
  await app.sdkEndSession(byToken(sessionId), { sessionId });
  const late = app.verifyIdpIdentity(byToken(sessionId), { sessionId, ticket: 'person' });
  t.like(await t.throwsAsync(late), { message: `Session ${sessionId} is not active (status: ENDED)` });
  t.true(tickets.has('person'));
});
