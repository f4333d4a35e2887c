import type { DomainError } from '@parley/kernel/errors';
import test, { type ExecutionContext } from 'ava';
import { type Args, buildRequest } from '../../src/custom-actions/build-request.ts';
import type { ActionFields } from '../../src/custom-actions/custom-action.ts';

type Action = Pick<ActionFields, 'url' | 'method' | 'extraHeaders'>;

const action = (given: Partial<Action> = {}): Action => ({
  url: 'https://api.test/orders',
  method: 'GET',
  extraHeaders: null,
  ...given,
});
const get = (url: string, args: Args) => buildRequest(action({ url }), args, {}).url;

function refusal(t: ExecutionContext, work: () => unknown): string[] {
  const { kind, reason, fields } = t.throws<DomainError>(work);
  t.deepEqual([kind, reason], ['invalid', 'BAD_ARGUMENTS']);
  return fields.map(({ path, message }) => `${path} ${message}`);
}

test('placeholders are filled with percent-encoded arguments', (t) => {
  t.is(
    get('https://api.test/a/{id}/b?q={q}&n={n}', { id: 'x y', q: 'ä&b=c#d', n: 7 }),
    'https://api.test/a/x%20y/b?q=%C3%A4%26b%3Dc%23d&n=7',
  );
  t.is(get('https://api.test/{on}?e={e}', { on: false, e: '' }), 'https://api.test/false?e=');
  t.is(get('https://api.test/{a}/{a}', { a: 1 }), 'https://api.test/1/1');
});

test('a missing argument of a placeholder is reported, and objects, arrays and null are refused', (t) => {
  t.deepEqual(
    refusal(t, () => get('https://api.test/{id}/{kind}?q={q}', { kind: { canary: 1 }, q: null })),
    [
      'args.id must be given',
      'args.kind must be text, a number, true or false',
      'args.q must be text, a number, true or false',
    ],
  );
  t.is(refusal(t, () => get('https://api.test/{id}', { id: ['a'] })).length, 1);
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty'])
    t.deepEqual(
      refusal(t, () => get(`https://api.test/{${name}}`, {})),
      [`args.${name} must be given`],
    );
});

test('no value can change the host or leave its path segment', (t) => {
  const template = 'https://api.test/users/{id}/posts?kind={kind}';
  for (const value of [
    '@evil.test',
    '//evil.test',
    'https://evil.test/',
    'a?b=c',
    'a#b',
    'a%2Fb',
    'a/b',
    'a\\b',
    'a;b',
    '...',
    '.a',
    'a..',
    '\r\nHost: evil.test',
    '{id}',
    '$&',
    "$'",
  ]) {
    const url = new URL(get(template, { id: value, kind: value }));
    t.is(url.host, 'api.test', value);
    t.deepEqual(url.pathname.split('/').map(decodeURIComponent), ['', 'users', value, 'posts'], value);
    t.is(url.hash, '');
    t.deepEqual([...url.searchParams], [['kind', value]]);
  }
});

test('dot segments and empty values in the path are refused', (t) => {
  for (const id of [
    '.',
    '..',
    '../admin',
    'a/../../admin',
    '..\\admin',
    'a\\..',
    './x',
    '%2e%2E/x',
    '.%2e',
    '%2e',
    '%2e%2e',
    '%2e%2e%2fx',
    'x%5C..',
  ])
    t.deepEqual(
      refusal(t, () => get('https://api.test/users/{id}', { id })),
      ['args.id must not hold a path of dots'],
      id,
    );
  t.deepEqual(
    refusal(t, () => get('https://api.test/users/{id}', { id: '' })),
    ['args.id must not be empty'],
  );
  t.deepEqual(
    refusal(t, () => get('https://api.test/a/.{id}/b', { id: '%2e' })),
    ['args.id must not hold a path of dots'],
  );
});

test('values that cannot be percent-encoded are refused', (t) => {
  t.deepEqual(
    refusal(t, () => get('https://api.test/{a}?b={b}', { a: 'nul\0', b: '\ud83d' })),
    ['args.a must not hold the character NUL', 'args.b must not hold half of a surrogate pair'],
  );
  t.is(refusal(t, () => get('https://api.test/{a}', { a: 'x'.repeat(9_000) })).length, 1);
});

test('GET and DELETE send the remaining arguments in the query', (t) => {
  for (const method of ['GET', 'DELETE'] as const) {
    const args = {
      id: 1,
      text: 'a b&c',
      on: true,
      none: null,
      list: ['x', 2, null],
      empty: [],
      object: { a: [1] },
      nested: [[1], { b: 2 }],
    };
    const { url, body, headers } = buildRequest(action({ method, url: 'https://api.test/{id}' }), args, {});
    t.deepEqual(
      [...new URL(url).searchParams],
      [
        ['text', 'a b&c'],
        ['on', 'true'],
        ['list', 'x'],
        ['list', '2'],
        ['object', '{"a":[1]}'],
        ['nested', '[1]'],
        ['nested', '{"b":2}'],
      ],
    );
    t.is(body, undefined);
    t.false('content-type' in headers);
  }
  t.is(get('https://api.test/a', {}), 'https://api.test/a');
  t.is(get('https://api.test/a?v=1', { b: 2 }), 'https://api.test/a?v=1&b=2');
  t.is(get('https://api.test/a?', { b: 2 }), 'https://api.test/a?b=2');
  t.is(get('https://api.test/a', { 'half \ud83d': '\ude00' }), 'https://api.test/a?half%20%EF%BF%BD=%EF%BF%BD');
  t.is(refusal(t, () => get('https://api.test/a', { b: 'x'.repeat(20_000) })).length, 1);
});

test("an argument does not override a parameter in the action's URL", (t) => {
  t.deepEqual(
    refusal(t, () => get('https://api.test/a?api%20key=1&q={q}', { 'api key': 2, q: 1 })),
    ["args.api key is set by the action's URL"],
  );
});

test('POST, PUT and PATCH send the remaining arguments as JSON', (t) => {
  for (const method of ['POST', 'PUT', 'PATCH'] as const) {
    const { url, body, headers } = buildRequest(
      action({ method, url: 'https://api.test/{id}' }),
      { id: 1, a: { b: [null] } },
      {},
    );
    t.is(url, 'https://api.test/1');
    t.is(body, '{"a":{"b":[null]}}');
    t.is(headers['content-type'], 'application/json');
  }
  t.is(buildRequest(action({ method: 'POST' }), {}, {}).body, '{}');
  const args = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "x": "nul\\u0000 half \\ud83d"}');
  const body = String(buildRequest(action({ method: 'POST' }), args, {}).body);
  t.is(body, '{"__proto__":{"a":1},"constructor":2,"x":"nul\\u0000 half \\ud83d"}');
});

test('the credential header overrides extraHeaders, whatever the case of the name', (t) => {
  const extraHeaders = {
    'x-API-key': 'extra',
    Authorization: 'extra',
    'Content-Type': 'application/vnd.api+json',
    Accept: 'text/csv',
  };
  const { headers } = buildRequest(action({ method: 'POST', extraHeaders }), {}, { 'X-Api-Key': 'raw' });
  t.deepEqual(headers, {
    'x-api-key': 'raw',
    authorization: 'extra',
    'content-type': 'application/vnd.api+json',
    accept: 'text/csv',
  });
  const bearer = buildRequest(action({ extraHeaders }), {}, { authorization: 'Bearer t' }).headers;
  t.like(bearer, { authorization: 'Bearer t', 'x-api-key': 'extra' });
});

test("the call's idempotency key overrides one in extraHeaders", (t) => {
  const extraHeaders = { 'IDEMPOTENCY-key': 'fixed' };
  t.is(buildRequest(action({ extraHeaders }), {}, {}, 'turn-1/call-2').headers['idempotency-key'], 'turn-1/call-2');
  t.is(buildRequest(action({ extraHeaders }), {}, {}).headers['idempotency-key'], 'fixed');
});

test('an invalid header is refused, and the error does not contain its value', (t) => {
  const { message } = t.throws<DomainError>(() =>
    buildRequest(action(), {}, { authorization: 'Bearer canary\r\nX: 1' }),
  );
  t.false(message.includes('canary'));
});
