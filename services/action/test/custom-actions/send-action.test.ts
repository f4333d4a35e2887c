import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { jsonSchemas } from '@parley/json-schema/json-schemas';
import type { DomainError } from '@parley/kernel/errors';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import test, { type ExecutionContext } from 'ava';
import { type CallErrorKind, kindOfError } from '../../src/custom-actions/call-error-kind.ts';
import type { CustomAction } from '../../src/custom-actions/custom-action.ts';
import { messagingTokens } from '../../src/custom-actions/messaging-tokens.ts';
import { type ActionCall, type SendPorts, sendAction } from '../../src/custom-actions/send-action.ts';
import { largeWork } from '../../src/large-work.ts';
import { guardedFetch, restServer, sendJson } from './rest-server.ts';
import { plainAction, withBearer, withHeader, withMessaging, withPartner, withSession } from './rules.ts';

const bearer = { kind: 'BEARER', token: 'canary-bearer' } as const;
const app = { kind: 'MESSAGING', appId: 'app-1', appSecret: 'canary-app-secret' } as const;

type Handler = Parameters<typeof restServer>[1];
const echo: Handler = (request, response) => sendJson(response, 200, request);

/** Starts an API, a messaging platform and an identity provider on loopback. They are called through the real outbound guard. */
async function world(
  t: ExecutionContext,
  api: Handler = echo,
  {
    guard,
    idp = (_, response) => sendJson(response, 200, { token: 'canary-session' }),
  }: { guard?: Parameters<typeof guardedFetch>[1]; idp?: Handler } = {},
) {
  const server = await restServer(t, api);
  let issued = 0;
  const platform = await restServer(t, (_, response) => {
    issued += 1;
    sendJson(response, 200, { code: 0, tenant_access_token: `canary-messaging-${issued}`, expire: 7_200 });
  });
  const provider = await restServer(t, idp);
  const { outbound, log, lines } = await guardedFetch(t, guard);
  const box = createSecretBox([randomBytes(32)]);
  const ports: SendPorts = {
    outbound,
    schemas: jsonSchemas(),
    workOn: largeWork(),
    messaging: messagingTokens({ keyValue: memoryKeyValue(), box, urls: { REGION_INTL: platform.url }, log }),
    idpOne: { url: provider.url, clientId: 'client', clientSecret: 'canary-client', timeoutMs: 5_000 },
    partnerToken: async (tenantId, product) =>
      tenantId === 3 && product === 'PARTNER_B' ? 'canary-partner' : undefined,
  };
  const send = (action: Partial<CustomAction>, call: Partial<ActionCall> = {}) =>
    sendAction(
      ports,
      { ...plainAction, url: `${server.url}/orders`, extraHeaders: null, ...action },
      { args: {}, linkedIdentity: async () => undefined, ...call },
    );
  return {
    server,
    platform,
    provider,
    lines,
    ports,
    send,
    async kindOf(action: Partial<CustomAction>, call: Partial<ActionCall> = {}) {
      try {
        return (await send(action, call)).errorKind;
      } catch (error) {
        const { message, fields } = error as DomainError;
        t.false(JSON.stringify([message, fields]).includes('canary'), 'no credential in an error');
        return kindOfError(error, call.signal);
      }
    },
  };
}

const at = (action: CustomAction): Partial<CustomAction> => {
  const { url: _, ...rest } = action;
  return rest;
};

test('a bearer token is sent as Authorization: Bearer by default', async (t) => {
  const { send, server } = await world(t);
  await send(at(withBearer), { stored: bearer });
  t.is(server.seen[0]?.headers.authorization, 'Bearer canary-bearer');
});

test('with credentialSecretHeaderName the token is sent in that header, without Authorization', async (t) => {
  const { send, server } = await world(t);
  await send({ ...at(withHeader), extraHeaders: { 'x-api-KEY': 'extra' } }, { stored: bearer });
  t.is(server.seen[0]?.headers['x-api-key'], 'canary-bearer');
  t.is(server.seen[0]?.headers.authorization, undefined);
});

test('an action without a credential sends no credential', async (t) => {
  const { send, server } = await world(t);
  await send({});
  t.is(server.seen[0]?.headers.authorization, undefined);
});

test('a messaging action sends the tenant access token, which is issued once', async (t) => {
  const { send, server, platform } = await world(t);
  for (let n = 0; n < 3; n += 1) await send(at(withMessaging), { stored: app });
  t.deepEqual(
    server.seen.map(({ headers }) => headers.authorization),
    Array.from({ length: 3 }, () => 'Bearer canary-messaging-1'),
  );
  t.is(platform.seen.length, 1);
});

test('a 401 drops the cached messaging token, and the call is not sent again', async (t) => {
  const { send, server, platform } = await world(t, (_, response) =>
    sendJson(response, server.seen.length === 2 ? 401 : 200, {}),
  );
  await send(at(withMessaging), { stored: app });
  t.is((await send(at(withMessaging), { stored: app })).errorKind, 'UNAUTHORIZED');
  t.is(server.seen.length, 2);
  await send(at(withMessaging), { stored: app });
  t.is(platform.seen.length, 2);
  t.is(server.seen[2]?.headers.authorization, 'Bearer canary-messaging-2');
});

test("a partner action sends the tenant's token for that partner", async (t) => {
  const { send, server, kindOf } = await world(t);
  await send(at(withPartner));
  t.is(server.seen[0]?.headers.authorization, 'Bearer canary-partner');
  t.is(await kindOf({ credentialSource: 'PARTNER_A' }), 'CREDENTIAL_MISSING');
  t.is(await kindOf({ ...at(withPartner), tenantId: 4 }), 'CREDENTIAL_MISSING');
  t.is(server.seen.length, 1);
});

test('a session action sends a token that is issued for the person in the conversation at each call', async (t) => {
  const { send, server, provider } = await world(t);
  const linkedIdentity = async (product: string) => (product === 'PARTNER_A' ? 'subject-9' : undefined);
  await send(at(withSession), { linkedIdentity });
  await send(at(withSession), { linkedIdentity });
  t.is(server.seen[0]?.headers.authorization, 'Bearer canary-session');
  t.is(provider.seen.length, 2);
  t.like(provider.seen[0], { method: 'POST', path: '/products/PARTNER_A/token', body: '{"subject":"subject-9"}' });
  t.like(provider.seen[0]?.headers, { 'x-client-id': 'client', 'x-client-secret': 'canary-client' });
});

test('a session action without a linked identity fails with IDENTITY_NOT_LINKED and is not sent', async (t) => {
  const { kindOf, server, provider } = await world(t);
  t.is(await kindOf(at(withSession)), 'IDENTITY_NOT_LINKED');
  t.is(server.seen.length + provider.seen.length, 0);
});

test('every response of the identity provider maps to an error kind', async (t) => {
  const answers = [
    [403, {}, 'CREDENTIAL_REFUSED'],
    [404, {}, 'CREDENTIAL_REFUSED'],
    [500, {}, 'CREDENTIAL_UNAVAILABLE'],
    [200, {}, 'CREDENTIAL_UNAVAILABLE'],
    [200, { token: 'canary\n' }, 'CREDENTIAL_UNAVAILABLE'],
  ] as const;
  let n = 0;
  const { kindOf, server, ports } = await world(t, echo, {
    idp: (_, response) => {
      const [status = 500, body] = answers[n] ?? [];
      n += 1;
      sendJson(response, status, body);
    },
  });
  for (const [, , kind] of answers) t.is(await kindOf(at(withSession), { linkedIdentity: async () => 's' }), kind);
  delete ports.idpOne;
  t.is(await kindOf(at(withSession), { linkedIdentity: async () => 's' }), 'CREDENTIAL_MISSING');
  t.is(server.seen.length, 0);
});

test('an action whose stored credential is missing is not sent', async (t) => {
  const { kindOf, server } = await world(t);
  t.is(await kindOf(at(withBearer)), 'CREDENTIAL_MISSING');
  t.is(await kindOf(at(withBearer), { stored: app }), 'CREDENTIAL_MISSING');
  t.is(await kindOf(at(withMessaging), { stored: bearer }), 'CREDENTIAL_MISSING');
  t.is(server.seen.length, 0);
});

test('arguments that do not match the schema are refused before anything is sent', async (t) => {
  const { send, kindOf, server, platform } = await world(t);
  const argsSchema = { properties: { id: { type: 'integer' } }, required: ['id'], additionalProperties: false };
  const call = { stored: app, args: { id: 'canary', more: 'canary' } };
  const { fields } = await t.throwsAsync<DomainError>(send({ ...at(withMessaging), argsSchema }, call));
  t.deepEqual(
    fields.map(({ path }) => path).sort((a, b) => a.localeCompare(b)),
    ['args.id', 'args.more'],
  );
  t.is(await kindOf({ ...at(withMessaging), argsSchema }, call), 'BAD_ARGUMENTS');
  t.is(await kindOf({ argsSchema: { type: 'text' } }, call), 'SCHEMA_INVALID');
  t.is(await kindOf({ ...at(withMessaging), url: 'http://127.0.0.1/{id}' }, { stored: app }), 'BAD_ARGUMENTS');
  t.is(server.seen.length + platform.seen.length, 0);
});

test('the server receives method, path, query, body, extra headers and idempotency key', async (t) => {
  const { send, server } = await world(t);
  const extraHeaders = { 'X-Kind': 'order' };
  const call = { args: { id: 'a/b', tags: ['x', 'y'] }, idempotencyKey: 'turn-1:call-2' };
  await send({ method: 'GET', url: `${server.url}/orders/{id}?v=1`, extraHeaders }, call);
  await send({ method: 'PATCH', url: `${server.url}/orders/{id}?v=1`, extraHeaders }, call);
  t.like(server.seen[0], { method: 'GET', path: '/orders/a%2Fb', query: { v: '1', tags: 'y' }, body: '' });
  t.like(server.seen[1], { method: 'PATCH', path: '/orders/a%2Fb', query: { v: '1' }, body: '{"tags":["x","y"]}' });
  for (const { headers } of server.seen) t.like(headers, { 'x-kind': 'order', 'idempotency-key': 'turn-1:call-2' });
});

test('every HTTP status is a result with an error kind', async (t) => {
  const { send, server } = await world(t, ({ query }, response) =>
    sendJson(response, Number(query['status']), { why: 'because' }),
  );
  const kinds: [number, CallErrorKind | undefined][] = [
    [200, undefined],
    [201, undefined],
    [299, undefined],
    [304, 'UNEXPECTED_STATUS'],
    [400, 'REJECTED'],
    [401, 'UNAUTHORIZED'],
    [403, 'UNAUTHORIZED'],
    [404, 'NOT_FOUND'],
    [409, 'CONFLICT'],
    [410, 'NOT_FOUND'],
    [422, 'REJECTED'],
    [429, 'RATE_LIMITED'],
    [500, 'REMOTE_ERROR'],
    [503, 'REMOTE_ERROR'],
    [599, 'REMOTE_ERROR'],
  ];
  for (const [status, errorKind] of kinds) {
    const answer = await send({ method: 'GET', url: `${server.url}/` }, { args: { status } });
    t.is(answer.status, status);
    t.is(answer.errorKind, errorKind, String(status));
    if (status !== 304) t.like(answer.body, { kind: 'json', json: { why: 'because' } });
  }
});

test('a result contains only selected response headers', async (t) => {
  const headers = {
    'retry-after': '7',
    'x-request-id': 'r-1',
    etag: '"1"',
    location: '/orders/1',
    'x-ratelimit-remaining': '3',
    'set-cookie': 'a=canary',
    'x-internal': 'x',
    link: `<${'x'.repeat(5_000)}>`,
  };
  const { send } = await world(t, (_, response) => sendJson(response, 201, {}, headers));
  const answer = await send({});
  t.deepEqual(
    Object.keys(answer.headers).sort((a, b) => a.localeCompare(b)),
    ['content-type', 'date', 'etag', 'link', 'location', 'retry-after', 'x-ratelimit-remaining', 'x-request-id'],
  );
  t.is(answer.headers['link']?.length, 2_048);
});

test('compressed and empty bodies are decoded, and binary ones described', async (t) => {
  const bodies: Record<string, [Record<string, string>, Buffer]> = {
    '/gzip': [{ 'content-type': 'application/json', 'content-encoding': 'gzip' }, gzipSync('{"a":1}')],
    '/png': [{ 'content-type': 'image/png' }, Buffer.from([1, 0, 255])],
    '/empty': [{}, Buffer.alloc(0)],
  };
  const { send, server } = await world(t, ({ path }, response) => {
    const [headers = {}, body] = bodies[path] ?? [];
    response.writeHead(200, headers).end(body);
  });
  const get = (path: string) => send({ method: 'GET', url: `${server.url}${path}` });
  t.like(await get('/gzip'), { body: { kind: 'json', json: { a: 1 } }, bytes: 7 });
  t.like(await get('/png'), { body: { kind: 'binary', contentType: 'image/png', bytes: 3 }, bytes: 3 });
  t.like(await get('/empty'), { body: { kind: 'text', text: '' }, bytes: 0 });
});

test('redirects are refused and not followed, including those to private addresses', async (t) => {
  for (const location of ['/elsewhere', 'http://169.254.169.254/latest/meta-data', 'http://10.0.0.1/']) {
    const { kindOf, server } = await world(t, (_, response) => response.writeHead(302, { location }).end());
    t.is(await kindOf(at(withBearer), { stored: bearer }), 'REDIRECT_REFUSED');
    t.is(server.seen.length, 1);
  }
});

test('private addresses are not called: literal, by DNS name, or after a DNS name changed its address', async (t) => {
  const { kindOf, server, ports } = await world(t, echo, {
    guard: { allowlist: [], dns: ({ type }) => (type === 'A' ? { addresses: ['127.0.0.1'] } : {}) },
  });
  const { port } = new URL(server.url);
  t.is(await kindOf({ url: `http://127.0.0.1:${port}/` }), 'URL_REFUSED');
  t.is(await kindOf({ url: `http://[::ffff:7f00:1]:${port}/` }), 'URL_REFUSED');
  t.is(await kindOf({ url: `http://rebinding.test:${port}/{a}` }, { args: { a: 'x' } }), 'HOST_NOT_PUBLIC');
  t.is(server.seen.length, 0);
  t.truthy(ports);
});

test('errors of the outbound guard keep their kind', async (t) => {
  const { kindOf, server } = await world(t, ({ path }, response) => {
    if (path === '/large') response.end('x'.repeat(1_100_000));
    if (path === '/broken') response.socket?.end('HTTP/1.1 nonsense\r\n\r\n');
    if (path === '/bomb')
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(2_000_000)));
  });
  const kind = (path: string, call: Partial<ActionCall> = {}) => kindOf({ url: `${server.url}${path}` }, call);
  t.is(await kind('/large'), 'REMOTE_TOO_LARGE');
  t.is(await kind('/bomb'), 'REMOTE_TOO_LARGE');
  t.is(await kind('/broken'), 'REMOTE_BROKEN');
  t.is(await kind('/silent', { timeoutMs: 200 }), 'REMOTE_TOO_SLOW');
  t.is(await kindOf({ url: 'http://127.0.0.1:1/' }), 'REMOTE_UNREACHABLE');
});

test('a call is cancelled by its signal, before it is sent and while it waits', async (t) => {
  const { kindOf, server } = await world(t, () => undefined);
  t.is(await kindOf({}, { signal: AbortSignal.abort() }), 'CANCELLED');
  t.is(server.seen.length, 0);
  const leaver = new AbortController();
  const call = kindOf({}, { signal: leaver.signal });
  while (server.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  leaver.abort();
  t.is(await call, 'CANCELLED');
});

test('one deadline covers the token and the call', async (t) => {
  const { kindOf, server } = await world(t, echo, { idp: () => undefined });
  const startedAt = performance.now();
  t.is(await kindOf(at(withSession), { timeoutMs: 200, linkedIdentity: async () => 's' }), 'CREDENTIAL_UNAVAILABLE');
  t.true(performance.now() - startedAt < 2_000);
  t.is(server.seen.length, 0);
});

test('credentials appear in no result, even if the server echoes them, and in no log line', async (t) => {
  const { send, lines, kindOf, server } = await world(t, (request, response) => {
    const { authorization = '', 'x-api-key': key = '' } = request.headers;
    sendJson(
      response,
      200,
      { headers: request.headers, raw: `${authorization}${key}` },
      { 'x-request-id': `${authorization}${key}` },
    );
  });
  const calls: [CustomAction, Partial<ActionCall>][] = [
    [withBearer, { stored: bearer }],
    [withHeader, { stored: bearer }],
    [withMessaging, { stored: app }],
    [withPartner, {}],
    [withSession, { linkedIdentity: async () => 's' }],
  ];
  for (const [action, call] of calls) {
    const answer = await send(at(action), call);
    t.false(JSON.stringify(answer).includes('canary'), action.credentialSource ?? 'null');
    t.true(JSON.stringify(answer).includes('[credential]'));
    t.is(await kindOf({ ...at(action), url: 'http://127.0.0.1:1/' }, call), 'REMOTE_UNREACHABLE');
  }
  t.is(server.seen.length, calls.length);
  t.false(lines.join().includes('canary'));
});
