import { inspect } from 'node:util';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { createIdpOne } from '../src/idp-one/idp-one.ts';
import { ticketExchange } from '../src/idp-one/ticket-exchange.ts';
import { anonymous, signUp } from './support/identity-app.ts';
import { type ProviderFault, startIdentityProvider } from './support/identity-provider.ts';
import { idpOneApp, newPerson } from './support/idp-one-app.ts';

const refused = { kind: 'unauthenticated', message: 'Invalid or expired ticket', reason: undefined };
const away = { kind: 'unavailable', message: 'The identity provider is not available at the moment' };
const settings = { clientId: 'id', clientSecret: 'secret', timeoutMs: 600_000 };
/** A long timeout, so that no exchange times out on a busy machine. */
const patient = { env: { IDP_ONE_TIMEOUT_MS: '600000' } };
const from = (ip: string) => ({ ...anonymous, ip });

test('rule 3: identity itself exchanges a ticket, by a POST of it with the id and the secret of the client', async (t) => {
  const { app, provider } = await idpOneApp(t);
  const ticket = provider.ticketFor(newPerson());
  await app.loginWithIdpOne(anonymous, { ticket });
  t.is(provider.exchanges.length, 1);
  const { IDP_ONE_CLIENT_ID, IDP_ONE_CLIENT_SECRET } = provider.env;
  t.like(provider.exchanges[0], {
    headers: {
      'content-type': 'application/json',
      'x-client-id': IDP_ONE_CLIENT_ID,
      'x-client-secret': IDP_ONE_CLIENT_SECRET,
    },
    body: { ticket },
  });
});

test('IDP_ONE_URL may have a trailing slash, and a path', async (t) => {
  const { app, provider, ports, enter } = await idpOneApp(t);
  const { IDP_ONE_CLIENT_ID: clientId, IDP_ONE_CLIENT_SECRET: clientSecret } = provider.env;
  const at = (url: string) => createIdpOne({ ...settings, clientId, clientSecret, url }, ports.log);
  ports.idpOne = at(`${provider.url}/`);
  await t.notThrowsAsync(enter(newPerson()));
  ports.idpOne = at(`${provider.url}/sso/`); // this provider serves nothing under this path
  t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket: provider.ticketFor(newPerson()) })), refused);
  t.is(provider.exchanges.length, 1);
});

test('without IDP_ONE_URL nobody can sign in with it or link it', async (t) => {
  const { app, provider } = await idpOneApp(t, { env: { IDP_ONE_URL: '' } });
  const { caller } = await signUp(app);
  const ticket = provider.ticketFor(newPerson());
  const off = { kind: 'invalid', reason: 'IDP_ONE_NOT_CONFIGURED' };
  t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket })), off);
  t.like(await t.throwsAsync(app.linkIdentity(caller, { provider: 'IDP_ONE', providerToken: ticket })), off);
  t.is(provider.exchanges.length, 0);
});

test('a ticket seen before is refused without a call, on every replica, whatever became of it', async (t) => {
  const { app, provider, enter, replica } = await idpOneApp(t);
  const other = await replica();
  const good = provider.ticketFor(newPerson());
  await app.loginWithIdpOne(anonymous, { ticket: good });
  t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket: 'made up' })), refused);
  t.is(provider.exchanges.length, 2);
  for (const ticket of [good, 'made up']) {
    t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket })), refused);
    t.like(await t.throwsAsync(other.loginWithIdpOne(anonymous, { ticket })), refused);
  }
  t.is(provider.exchanges.length, 2);
  await t.notThrowsAsync(enter(newPerson()));
});

test('an unknown, a used and a repeated ticket get the same answer', async (t) => {
  const { app, provider } = await idpOneApp(t);
  const answers: unknown[] = [];
  const used = provider.ticketFor(newPerson());
  await app.loginWithIdpOne(anonymous, { ticket: used });
  for (const status of [400, 401, 403, 404, 409, 410, 422]) {
    provider.failNext({ status, body: 'no such ticket' });
    const ticket = provider.ticketFor(newPerson());
    answers.push({ ...(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket }))) });
  }
  answers.push({ ...(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket: used }))) });
  answers.push({ ...(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket: 'unknown' }))) });
  t.is(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
});

test('tickets are kept as hashes for a day', async (t) => {
  const { app, provider, database, advance, enter } = await idpOneApp(t);
  await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket: 'canary-ticket' }));
  const seen = () => database.transactShared(({ knex }) => knex('seen_tickets'));
  const rows = await seen();
  t.is(rows.length, 1);
  t.notRegex(JSON.stringify(rows), /canary/);
  t.is(rows[0].ticketSha256.length, 32);
  advance(23 * 60 * 60_000);
  await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket: 'canary-ticket' }));
  t.is(provider.exchanges.length, 1);
  advance(2 * 60 * 60_000);
  await enter(newPerson());
  t.is((await seen()).length, 1, 'the old one is forgotten');
});

const faults: Record<string, ProviderFault> = {
  'an error of its own': { status: 500, body: 'canary-body' },
  'a busy answer': { status: 429 },
  'a timeout of its own': { status: 408 },
  'a redirect': { status: 307, headers: { location: '/login' } },
  'no JSON': { status: 200, body: '{"subject": "canary-body' },
  nothing: { status: 204 },
  'JSON that is not as agreed': { status: 200, body: '{"subject": 7.5, "email": "canary-body"}' },
  'a closed connection': 'cut',
  'an answer without end': 'endless',
  'an answer that is too long': { status: 200, body: JSON.stringify(newPerson()).padEnd(65_537) },
};

for (const [name, fault] of Object.entries(faults)) {
  test(`a provider with ${name} is unavailable, and the same ticket can be used afterwards`, async (t) => {
    const { app, provider, counts } = await idpOneApp(t, patient);
    const before = await counts();
    const ticket = provider.ticketFor(newPerson());
    provider.failNext(fault);
    const error = await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket }));
    t.like(error, away);
    t.notRegex(error.message, /canary/);
    t.is(provider.exchanges.length, 1, 'asked once');
    t.deepEqual(await counts(), before);
    await t.notThrowsAsync(app.loginWithIdpOne(anonymous, { ticket }));
  });
}

test('a provider that cannot be reached is unavailable, and the same ticket can be used afterwards', async (t) => {
  const { app, provider, ports } = await idpOneApp(t);
  const ticket = provider.ticketFor(newPerson());
  const { idpOne } = ports;
  ports.idpOne = createIdpOne({ ...settings, url: 'http://127.0.0.1:1' }, ports.log);
  for (let n = 0; n < 2; n += 1) t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket })), away);
  ports.idpOne = idpOne;
  await t.notThrowsAsync(app.loginWithIdpOne(anonymous, { ticket }));
});

test('neither a log line nor an error has the ticket, the secret or what the provider said', async (t) => {
  const { provider } = await idpOneApp(t);
  const written: unknown[] = [];
  const { IDP_ONE_CLIENT_SECRET: clientSecret } = provider.env;
  const exchange = ticketExchange(
    { url: provider.url, clientId: 'parley-tests', clientSecret },
    { info: (...line: unknown[]) => written.push(line), error: (...line: unknown[]) => written.push(line) },
  );
  const ask = (signal = new AbortController().signal) =>
    exchange('canary-ticket', signal).catch((error: unknown) => written.push(error));
  provider.failNext({ status: 403, body: 'canary-body' });
  await ask();
  for (const fault of Object.values(faults)) {
    provider.failNext(fault);
    await ask();
  }
  provider.failNext('hang');
  await ask(AbortSignal.timeout(50));
  t.is(written.length, 2 + Object.keys(faults).length);
  t.regex(inspect(written[0]), /identity provider refused a ticket/);
  t.notRegex(inspect(written, { depth: null, showHidden: true }), /canary/);
});

test('redirects are not followed, so that no other server sees ticket or secret', async (t) => {
  const { app, provider } = await idpOneApp(t);
  const other = await startIdentityProvider();
  t.teardown(() => other.stop());
  provider.failNext({ status: 308, headers: { location: `${other.url}/tickets/exchange` } });
  const ticket = provider.ticketFor(newPerson());
  t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket })), away);
  t.is(other.exchanges.length, 0);
});

test('hostile answers sign in nobody and store nothing', async (t) => {
  const { app, provider, counts } = await idpOneApp(t);
  const person = newPerson();
  const before = await counts();
  for (const part of [
    { subject: 'nul\0' },
    { email: '\ud83d@example.test' },
    { fullname: 'x'.repeat(10_000) },
    { emailVerified: 'true' },
    { company: { id: ['a'], name: 'Acme' } },
    { company: { id: 'acme', name: 'nul\0' } },
  ]) {
    const ticket = provider.ticketForAnything({ ...person, ...part });
    t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket })), away, JSON.stringify(part).slice(0, 40));
  }
  t.deepEqual(await counts(), before);
});

test('a ticket is text of 1 to 4,096 characters; any other is refused without a call', async (t) => {
  const { app, provider } = await idpOneApp(t);
  for (const ticket of ['', ' ', 'x'.repeat(4_097), 'nul\0', 'half \ud83d'])
    t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket })), {
      kind: 'invalid',
      fields: [{ path: 'ticket' }],
    });
  t.is(provider.exchanges.length, 0);
  t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket: '😀'.repeat(4_096) })), refused);
});

test('while the provider is asked, no database connection and no lock is held', async (t) => {
  const { app, provider, database } = await idpOneApp(t, patient);
  const { caller } = await signUp(app);
  const gate = createGate();
  provider.holdAt(gate);
  const linking = app.linkIdentity(caller, { provider: 'IDP_ONE', providerToken: provider.ticketFor(newPerson()) });
  // More logins than the pool has connections.
  const logins = Array.from({ length: 12 }, (_, n) =>
    app.loginWithIdpOne(from(`198.51.100.${n}`), { ticket: provider.ticketFor(newPerson()) }),
  );
  await eventually('all are asked', () => provider.exchanges.length === 13);
  await t.notThrowsAsync(app.changePassword(caller, { newPassword: 'another long password' }));
  await database.transactShared(({ knex }) => knex('users').where({ id: caller.userId }).forUpdate());
  gate.open();
  await t.notThrowsAsync(Promise.all([linking, ...logins]));
});

test('a client has at most eight exchanges under way, and others do not wait for it', async (t) => {
  const { app, provider, enter } = await idpOneApp(t, patient);
  const gate = createGate();
  provider.holdAt(gate);
  const attempts = Array.from({ length: 50 }, () =>
    app.loginWithIdpOne(from('203.0.113.7'), { ticket: provider.ticketFor(newPerson()) }),
  );
  const ends = Promise.allSettled(attempts);
  await eventually('some are asked', () => provider.exchanges.length === 8);
  provider.holdAt(undefined);
  await t.notThrowsAsync(enter(newPerson(), from('203.0.113.8')));
  t.is(provider.exchanges.length, 9);
  gate.open();
  const kinds = (await ends).map((end) => (end.status === 'fulfilled' ? 'in' : end.reason.kind));
  t.is(kinds.filter((kind) => kind === 'in').length, 40);
  t.is(kinds.filter((kind) => kind === 'tooManyRequests').length, 10);
});

test('a provider that never answers is unavailable after the timeout', async (t) => {
  const { app, provider, counts } = await idpOneApp(t, { env: { IDP_ONE_TIMEOUT_MS: '200' } });
  provider.failNext('hang', 'hang');
  const before = await counts();
  const ticket = provider.ticketFor(newPerson());
  for (let n = 0; n < 2; n += 1) t.like(await t.throwsAsync(app.loginWithIdpOne(anonymous, { ticket })), away);
  t.deepEqual(await counts(), before);
});

test('an exchange that times out, running or queued, is unavailable, and the ticket can be used afterwards', async (t) => {
  const { app, provider, ports } = await idpOneApp(t, patient);
  const { idpOne } = ports;
  if (!idpOne) return t.fail();
  const late = new AbortController();
  ports.idpOne = { ...idpOne, deadlineSignal: () => late.signal };
  provider.failNext(...Array.from({ length: 8 }, () => 'hang' as const));
  const tickets = Array.from({ length: 9 }, () => provider.ticketFor(newPerson()));
  const over = Promise.allSettled(tickets.map((ticket) => app.loginWithIdpOne(anonymous, { ticket })));
  await eventually('all but one are asked', () => provider.exchanges.length === 8);
  late.abort(new DOMException('too late', 'TimeoutError'));
  for (const end of await over) t.like(end, { status: 'rejected', reason: away });
  t.is(provider.exchanges.length, 8);
  ports.idpOne = idpOne;
  for (const ticket of tickets) await t.notThrowsAsync(app.loginWithIdpOne(anonymous, { ticket }));
});

test('an exchange ends when its caller disconnects', async (t) => {
  const { app, provider } = await idpOneApp(t, patient);
  provider.failNext('hang');
  const leaving = new AbortController();
  const ticket = provider.ticketFor(newPerson());
  const login = t.throwsAsync(app.loginWithIdpOne(requestOf(anonymous, { signal: leaving.signal }), { ticket }));
  await eventually('it is asked', () => provider.exchanges.length === 1);
  leaving.abort();
  t.like(await login, { kind: 'unavailable' });
  await t.notThrowsAsync(app.loginWithIdpOne(anonymous, { ticket }));
});
