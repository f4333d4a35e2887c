import type { DomainError } from '@parley/kernel/errors';
import test from 'ava';
import { type CreateCustomActionInput, newAction, newPartnerAction } from '../../src/custom-actions/create-rules.ts';
import { refusal, rules, url } from './rules.ts';

const base: CreateCustomActionInput = { name: 'Order', url };
const pair = { messagingAppId: 'app-1', messagingAppSecret: 'canary-secret' };
const create = (input: Partial<CreateCustomActionInput> = {}) => newAction(rules, { ...base, ...input });

const defaults = {
  name: 'Order',
  url,
  method: 'POST',
  description: null,
  argsSchema: null,
  extraHeaders: null,
  credentialSecretHeaderName: null,
  credentialSource: null,
  storedCredential: null,
  messagingRegion: null,
};

test('an action without a credential needs only a name and a url, and its method defaults to POST', (t) => {
  t.deepEqual(create(), { fields: defaults });
  t.deepEqual(
    create(
      Object.fromEntries(
        Object.keys(defaults)
          .slice(2)
          .map((key) => [key, null])
          .filter(([key]) => key !== 'storedCredential'),
      ),
    ),
    { fields: defaults },
  );
});

test('method is GET, POST, PUT, PATCH or DELETE, in any letter case', (t) => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'get', 'Patch'])
    t.deepEqual<string, string>(create({ method }).fields.method, method.toUpperCase());
  for (const method of ['HEAD', 'OPTIONS', 'CONNECT', 'TRACE', '', ' GET', 'GET\r\n'])
    t.deepEqual(
      refusal(t, () => create({ method })),
      ['input.method must be one of GET, POST, PUT, PATCH, DELETE'],
    );
});

test('a bearer token is stored as the credential, and the row contains only its kind', (t) => {
  const { fields, credential } = create({ bearerToken: 'canary-token' });
  t.deepEqual(fields, { ...defaults, storedCredential: 'BEARER' });
  t.deepEqual(credential, { kind: 'BEARER', token: 'canary-token' });
  t.is(
    create({ bearerToken: 'x', credentialSecretHeaderName: 'X-Api-Key' }).fields.credentialSecretHeaderName,
    'X-Api-Key',
  );
});

test('messagingAppId and messagingAppSecret make a MESSAGING_TENANT action, in REGION_INTL by default', (t) => {
  const { fields, credential } = create(pair);
  t.like(fields, {
    credentialSource: 'MESSAGING_TENANT',
    storedCredential: 'MESSAGING',
    messagingRegion: 'REGION_INTL',
  });
  t.deepEqual(credential, { kind: 'MESSAGING', appId: 'app-1', appSecret: 'canary-secret' });
  t.is(create({ ...pair, messagingRegion: 'REGION_CN' }).fields.messagingRegion, 'REGION_CN');
  t.deepEqual(
    refusal(t, () => create({ ...pair, messagingRegion: 'REGION_EU' })),
    ['input.messagingRegion must be one of REGION_CN, REGION_INTL'],
  );
});

test('messagingAppId and messagingAppSecret require each other', (t) => {
  t.deepEqual(
    refusal(t, () => create({ messagingAppId: 'a' })),
    ['input.messagingAppSecret must be given with messagingAppId'],
  );
  t.deepEqual(
    refusal(t, () => create({ messagingAppSecret: 's', messagingAppId: null })),
    ['input.messagingAppId must be given with messagingAppSecret'],
  );
});

test('messagingRegion requires messagingAppId and messagingAppSecret', (t) => {
  t.deepEqual(
    refusal(t, () => create({ messagingRegion: 'REGION_CN' })),
    ['input.messagingRegion must be given with messagingAppId and messagingAppSecret only'],
  );
});

test('bearerToken and the messaging credentials exclude each other', (t) => {
  t.deepEqual(
    refusal(t, () => create({ ...pair, bearerToken: 'x' })),
    ['input.bearerToken must not be given with messagingAppId or messagingAppSecret'],
  );
});

test('a SESSION_* source stores no credential and excludes bearerToken and the messaging credentials', (t) => {
  for (const credentialSource of ['SESSION_PARTNER_A', 'SESSION_PARTNER_B', 'SESSION_PARTNER_C'] as const)
    t.deepEqual(create({ credentialSource }), { fields: { ...defaults, credentialSource } });
  const credentialSource = 'SESSION_PARTNER_A';
  t.deepEqual(
    refusal(t, () => create({ credentialSource, bearerToken: 'x' })),
    ['input.credentialSource must not be given with bearerToken'],
  );
  t.deepEqual(
    refusal(t, () => create({ credentialSource, ...pair })),
    ['input.credentialSource must not be given with messagingAppId or messagingAppSecret'],
  );
});

test('PARTNER_*, MESSAGING_TENANT and unknown sources are refused as input', (t) => {
  for (const credentialSource of ['PARTNER_A', 'PARTNER_B', 'PARTNER_C', 'MESSAGING_TENANT', 'SESSION_PARTNER_D', ''])
    t.deepEqual(
      refusal(t, () => create({ credentialSource })),
      ['input.credentialSource must be one of SESSION_PARTNER_A, SESSION_PARTNER_B, SESSION_PARTNER_C'],
    );
});

test('credentialSecretHeaderName requires bearerToken in the same call', (t) => {
  const message = 'input.credentialSecretHeaderName must be given with bearerToken only';
  const credentialSecretHeaderName = 'X-Api-Key';
  t.deepEqual(
    refusal(t, () => create({ credentialSecretHeaderName })),
    [message],
  );
  t.deepEqual(
    refusal(t, () => create({ credentialSecretHeaderName, ...pair })),
    [message],
  );
  t.deepEqual(
    refusal(t, () => create({ credentialSecretHeaderName, credentialSource: 'SESSION_PARTNER_B' })),
    [message],
  );
});

test('header names that inject or that the call itself sets are refused', (t) => {
  for (const name of [
    '',
    'X Key',
    'X-Key:',
    'X-Key\r\nHost',
    'Host',
    'content-length',
    'Content-Type',
    'Idempotency-Key',
    'Proxy-Authorization',
    'ключ',
    'x'.repeat(101),
  ])
    t.is(refusal(t, () => create({ bearerToken: 'x', credentialSecretHeaderName: name })).length, 1, name);
  t.notThrows(() => create({ bearerToken: 'x', credentialSecretHeaderName: 'Authorization' }));
});

test('a bearer token that is invalid in a header is refused, and the error does not contain it', (t) => {
  for (const bearerToken of [
    '',
    ' ',
    'canary\r\nX-Evil: 1',
    'canary\0',
    'canary\ud83d',
    'canary💥',
    ' canary',
    'canary'.repeat(2_000),
  ]) {
    const error = t.throws<DomainError>(() => create({ bearerToken }));
    t.is(error.fields[0]?.path, 'input.bearerToken');
    t.false(JSON.stringify([error.message, error.fields]).includes('canary'));
  }
});

test('no reported problem contains a credential', (t) => {
  const canary = 'canary-4711\r\n';
  const error = t.throws<DomainError>(() =>
    create({
      bearerToken: canary,
      messagingAppId: canary.repeat(100),
      messagingAppSecret: canary.repeat(100),
      credentialSource: canary,
      messagingRegion: canary,
      method: canary,
      credentialSecretHeaderName: canary,
      extraHeaders: { 'X-Secret': canary, [canary]: canary },
      url: `https://user:${canary.trim()}@example.test/`,
    }),
  );
  t.true(error.fields.length >= 9);
  t.false(JSON.stringify([error.message, error.fields]).includes('canary'));
});

test('every problem is reported at once', (t) => {
  const problems = refusal(t, () =>
    newAction(rules, {
      name: ' ',
      url: 'ftp://example.test/',
      method: 'HEAD',
      description: 'x'.repeat(2_001),
      argsSchema: { properties: { a: { type: 'text' } } },
      extraHeaders: { Host: 'x' },
      bearerToken: 'x',
      ...pair,
    }),
  );
  t.deepEqual(
    problems.map((problem) => problem.split(' ')[0] ?? '').sort((a, b) => a.localeCompare(b)),
    ['argsSchema.properties.a.type', 'bearerToken', 'description', 'extraHeaders', 'method', 'name', 'url'].map(
      (path) => `input.${path}`,
    ),
  );
});

test('name and url must not be null or omitted', (t) => {
  t.deepEqual(
    refusal(t, () => newAction(rules, {} as CreateCustomActionInput)),
    ['input.name must be given', 'input.url must be given'],
  );
  for (const name of ['two\nlines', 'nul\0', 'half \ud83d', 'x'.repeat(201)])
    t.is(refusal(t, () => create({ name })).length, 1);
});

test('a url that the outbound guard refuses is refused on save, whatever its placeholders are', (t) => {
  for (const bad of [
    'http://127.0.0.1/',
    'http://169.254.169.254/latest/{id}',
    'http://[::1]/',
    'http://0x7f.1/{id}',
    'https://user:pass@example.test/',
    'https://example.test:22/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    '/orders/{id}',
    '',
    'https://',
    'https:example.test/{id}',
    'https:/example.test/{id}',
    'https:\\\\example.test\\{id}',
    `https://example.test/${'a'.repeat(2_048)}`,
  ])
    t.is(refusal(t, () => create({ url: bad })).length, 1, bad);
});

test('placeholders are allowed only in path and query', (t) => {
  for (const good of [
    'https://example.test/a/{id}/b-{x.y}?q={q}&r={id}',
    'https://example.test/{a}{b}',
    'https://example.test?q={q}',
  ])
    t.is(create({ url: good }).fields.url, good);
  for (const bad of [
    '{scheme}://example.test/',
    'http{s}://example.test/',
    'https://{host}/',
    'https://{host}.example.test/',
    'https://example.test:{port}/',
    'https://{user}@example.test/',
    'https://example.test{x}/',
    'https://example.test/#{x}',
    'https://example.test/#x',
    'https://example.test/{}',
    'https://example.test/{a b}',
    'https://example.test/{a/b}',
    'https://example.test/{{a}}',
    'https://example.test/{a',
    'https://example.test/a}',
    'https://example.test/%{a}',
    'https://example.test/%2{a}',
    'https://example.test/{a\t}',
    'https://example.test\\{a}',
  ])
    t.is(refusal(t, () => create({ url: bad })).length, 1, bad);
});

test('extraHeaders is a limited map of strings, and an empty one is null', (t) => {
  const headers = { 'X-A': '1', 'x-b': 'é', 'X-Empty': '' };
  t.deepEqual(create({ extraHeaders: headers }).fields.extraHeaders, headers);
  t.is(create({ extraHeaders: {} }).fields.extraHeaders, null);

  const problems = (extraHeaders: unknown) => refusal(t, () => create({ extraHeaders }));
  for (const other of ['x', 7, true, [], ['X-A: 1']])
    t.deepEqual(problems(other), ['input.extraHeaders must be an object of header names and texts']);
  t.deepEqual(problems({ 'X-A': 1, 'X-B': null, 'X-C': ['a'], 'X-D': { a: 1 } }), [
    'input.extraHeaders.X-A must be text',
    'input.extraHeaders.X-B must be text',
    'input.extraHeaders.X-C must be text',
    'input.extraHeaders.X-D must be text',
  ]);
  const many = (count: number, size: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`X-${n}`, 'x'.repeat(size)]));
  t.deepEqual(problems(many(33, 1)), ['input.extraHeaders must have at most 32 headers']);
  t.deepEqual(problems(many(20, 500)), ['input.extraHeaders must have at most 8192 bytes']);
});

test('extraHeaders refuses injection, connection headers, and names that differ only in case', (t) => {
  const problems = (extraHeaders: unknown) => refusal(t, () => create({ extraHeaders }));
  for (const [name, value] of [
    ['X-A', 'a\r\nX-Evil: 1'],
    ['X-A', 'a\nb'],
    ['X-A', 'a\0b'],
    ['X-A', 'half \ud83d'],
    ['X-A', '💥'],
    ['X-A\r\nX-Evil', '1'],
    ['X-A: 1', '1'],
    ['', '1'],
    ['Host', 'evil.test'],
    ['Content-Length', '0'],
    ['Transfer-Encoding', 'chunked'],
    ['Connection', 'close'],
    ['Proxy-Authorization', 'x'],
  ] as const)
    t.is(problems({ [name]: value }).length, 1, JSON.stringify([name, value]));
  t.deepEqual(problems({ 'X-A': '1', 'x-a': '2' }), [
    'input.extraHeaders.x-a must not be given twice, in upper and lower case',
  ]);
});

test('argsSchema must be a JSON Schema that compiles', (t) => {
  const argsSchema = { type: 'object', properties: { id: { type: 'string', pattern: '^\\d+$' } }, required: ['id'] };
  t.deepEqual(create({ argsSchema }).fields.argsSchema, argsSchema);
  for (const bad of [
    true,
    'x',
    [],
    { type: 'text' },
    { type: 'string' },
    { type: ['array', 'null'] },
    { $ref: 'https://example.test/s' },
    { pattern: '(?=a)' },
    { title: 'nul\0' },
  ])
    t.is(refusal(t, () => create({ argsSchema: bad })).length, 1, JSON.stringify(bad));
});

test('a partner action that an operator provisions stores no credential', (t) => {
  const { fields, credential } = newPartnerAction(rules, 'PARTNER_C', { name: 'Partner', url, method: 'GET' });
  t.like(fields, { credentialSource: 'PARTNER_C', storedCredential: null, method: 'GET' });
  t.is(credential, undefined);
});
