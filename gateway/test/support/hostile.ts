import { gzipSync } from 'node:zlib';

/** The operation that the requests below use for long bodies; their gateway accepts it. */
// allow-name createAgent: their gateway's schema gets @longBody on it. allow-name agentCount: a piece of a document.
export const longOperation = 'createAgent';

export interface HostileRequest {
  name: string;
  body: string | Buffer;
  headers?: Record<string, string>;
  signedIn?: boolean;
  /** Expected HTTP statuses. */
  statuses: number[];
}

const many = (count: number, part: (i: number) => string) => Array.from({ length: count }, (_, i) => part(i)).join(' ');
const document = (name: string, query: string): HostileRequest => ({
  name,
  body: JSON.stringify({ query }),
  statuses: [400],
});
/** A request that needs no sign-in, because variables are checked before credentials. */
const withVariables = (name: string, query: string, variables: unknown): HostileRequest => ({
  name,
  body: JSON.stringify({ query, variables }),
  statuses: [400],
});
const signedIn = (name: string, query: string): HostileRequest => ({
  name,
  body: JSON.stringify({ query }),
  signedIn: true,
  statuses: [400],
});
const start = (metadata: string) =>
  `mutation { startSession(input: { agentId: 1, clientExternalId: "x", metadata: ${metadata} }) { id } }`;
const lists = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const within = (text: string) => `{"query":"{ __typename }","variables":{"v":${text}}}`;

/** Returns the request with a comment that makes its document new to the gateway's cache of documents. */
export function neverSeen(request: HostileRequest, number: number): HostileRequest {
  const { body } = request;
  const start = '{"query":"';
  if (typeof body !== 'string' || !body.startsWith(start)) return request;
  return { ...request, body: `${start}#${number}\\n${body.slice(start.length)}` };
}

/** Hostile requests with their expected statuses. None is executed, and none takes long. */
export const hostileRequests: HostileRequest[] = [
  document('10,000 aliases', `{ ${many(10_000, (i) => `a${i}: agentCount`)} }`),
  document('600 aliases', `{ ${many(600, (i) => `a${i}: agentCount`)} }`),
  document('one field 1,900 times', `{ ${many(1_900, () => 'agentCount')} }`),
  document('10,000 levels', `${'{ a '.repeat(10_000)}${'}'.repeat(10_000)}`),
  document('600 levels', `${'{ a '.repeat(600)}${'}'.repeat(600)}`),
  document('600 levels of inline fragments', `${'{ ... '.repeat(600)}{ agentCount }${'}'.repeat(600)}`),
  document('10,000 levels of lists', `{ agent(id: ${'['.repeat(10_000)}${']'.repeat(10_000)}) { id } }`),
  document('900 levels of lists', `{ agent(id: ${'['.repeat(900)}${']'.repeat(900)}) { id } }`),
  signedIn('900 levels of lists for JSON', start(lists(900))),
  signedIn('30 levels of lists and objects for JSON', start(`${'[{a:'.repeat(30)}1${'}]'.repeat(30)}`)),
  signedIn('60 chains of 14 lists for JSON', start(`[${lists(14).repeat(60)}]`)),
  signedIn('400 levels of objects for JSON', start(`${'{a:'.repeat(400)}1${'}'.repeat(400)}`)),
  signedIn('a number without an end', start('{ a: 1e999 }')),
  signedIn('an integer without an end', start(`{ a: 1${'0'.repeat(5_000)} }`)),
  document('10,000 directives', `{ agentCount ${'@a '.repeat(10_000)} }`),
  document('900 directives', `{ agentCount ${'@skip '.repeat(900)} }`),
  document(
    'fragments that double',
    `{ ...f0 } ${many(100, (i) => `fragment f${i} on Query { a: x { ...f${i + 1} } b: x { ...f${i + 1} } }`)}`,
  ),
  document('a fragment within itself', '{ ...f } fragment f on Query { agentCount ...f }'),
  document(
    'a ring of fragments',
    `{ ...f0 } ${many(150, (i) => `fragment f${i} on Query { ...f${(i + 1) % 150} ...f${(i + 7) % 150} }`)}`,
  ),
  document(
    'fragments that all spread all',
    `{ ...f0 } ${many(40, (i) => `fragment f${i} on Query { ${many(38, (j) => `...f${j}`)} }`)}`,
  ),
  document('300 unused fragments', `{ agentCount } ${many(280, (i) => `fragment f${i} on Query { a }`)}`),
  document(
    'introspection of introspection',
    `{ ${many(80, (i) => `a${i}: __schema { types { fields { args { type { name } } } } }`)} }`,
  ),
  document(
    'introspection in a ring',
    `{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }`,
  ),
  document('all types 80 times', `{ __schema { ${many(80, (i) => `t${i}: types { name fields { name } }`)} } }`),
  document('all fields by 250 names', `{ __schema { types { fields { ${many(250, (i) => `n${i}: name`)} } } } }`),
  document('400 unknown variable types', `query (${many(400, (i) => `$v${i}: Strin${i}`)}) { agentCount }`),
  document('600 unknown arguments', `{ agent(${many(600, (i) => `a${i}: 1`)}) { id } }`),
  document('600 unknown input fields', `mutation { createTenant(input: {${many(600, (i) => `a${i}: 1`)}}) { id } }`),
  document(
    '400 operations',
    many(390, (i) => `query q${i} { a }`),
  ),
  document('a name of 1 MB', `{ ${'a'.repeat(1_000_000)} }`),
  document('a string without an end', `{ agent(id: "${'x'.repeat(900_000)}) { id } }`),
  document('a million commas', `{ ${','.repeat(1_000_000)}`),
  document('a million braces', '{'.repeat(1_000_000)),
  document('a million brackets', `{ agent(id: ${'['.repeat(1_000_000)}`),
  document('comments of 1 MB', `{ ${'#x\n'.repeat(200_000)}`),
  document('a prototype for a name', 'query __proto__($__proto__: ID) { __proto__: constructor { toString } }'),
  document(
    'a subscription with a condition, by POST',
    'subscription ($x: Boolean!) { sessionEvents(sessionId: 1) @skip(if: $x) { eventId } }',
  ),
  document('a condition that is nowhere', 'subscription { sessionEvents(sessionId: 1) @skip(if: $zz) { eventId } }'),
  document('a condition that is text', 'subscription { sessionEvents(sessionId: 1) @include(if: "x") { eventId } }'),
  document('a condition without one', 'subscription { sessionEvents(sessionId: 1) @include { eventId } }'),
  { name: 'a million brackets as JSON', body: '['.repeat(1_000_000), statuses: [400] },
  { name: 'a million objects as JSON', body: '{"a":'.repeat(200_000), statuses: [400] },
  {
    name: 'a list for a body',
    body: `[${many(10_000, () => '{"query":"{__typename}"}').replaceAll(' ', ',')}]`,
    statuses: [400],
  },
  {
    name: '400,000 levels in variables',
    body: within(`${'['.repeat(400_000)}${']'.repeat(400_000)}`),
    statuses: [400],
  },
  {
    name: 'objects 100,000 deep',
    body: within(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`),
    statuses: [400],
  },
  withVariables('44,000 values for one', 'query ($id: ID!) { agent(id: $id) { id } }', {
    id: Array.from({ length: 44_000 }, () => 1),
  }),
  withVariables(
    '14,000 fields of an input that has none of them',
    `mutation ($input: CreateTenantInput!) { createTenant(input: $input) { id } }`,
    {
      input: Object.fromEntries(Array.from({ length: 14_000 }, (_, i) => [`f${i}`, 1])),
    },
  ),
  withVariables('14,000 fields for an id', 'query ($id: ID!) { agent(id: $id) { id } }', {
    id: Object.fromEntries(Array.from({ length: 14_000 }, (_, i) => [`f${i}`, 1])),
  }),
  {
    ...withVariables('44,000 halves of a pair', 'query ($x: Boolean!) { agentCount @skip(if: $x) }', {
      x: true,
      v: Array.from({ length: 44_000 }, () => '\ud800'),
    }),
    statuses: [200],
  },
  {
    name: '30,000 fields',
    body: within(JSON.stringify(Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`f${i}`, 1])))),
    statuses: [400],
  },
  { name: '90,000 values', body: within(`[${'1,'.repeat(90_000)}1]`), statuses: [400] },
  document('the schema twice', '{ a: __schema { types { name } } b: __schema { types { name } } }'),
  {
    name: 'a document of 2 MB for a long operation',
    body: JSON.stringify({ query: `{ ${longOperation}(${'a '.repeat(1_000_000)}` }),
    statuses: [413],
  },
  withVariables('400 KB in a number', 'query ($n: Int) { agents(first: $n) { id } }', { n: 'x'.repeat(400_000) }),
  { name: 'no UTF-8', body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), statuses: [400] },
  {
    name: 'an overlong NUL',
    body: Buffer.concat([Buffer.from('{"query":"{ a(b: \\"'), Buffer.from([0xc0, 0x80]), Buffer.from('\\") }"}')]),
    statuses: [400],
  },
  { name: '9 MB', body: `{"query":"${'x'.repeat(9_000_000)}"}`, statuses: [413] },
  { name: '7 MB for a short operation', body: within(`"${'x'.repeat(7_000_000)}"`), statuses: [413] },
  { name: '7 MB of lists', body: within(`[${'[],'.repeat(2_300_000)}1]`), statuses: [413] },
  {
    name: '7 MB of lists for a long operation',
    body: `{"query":"{ ${longOperation} }","v":[${'[],'.repeat(2_300_000)}1]}`,
    statuses: [400],
  },
  {
    name: '7 MB for a long operation',
    body: within(`"${longOperation} ${'x\\n'.repeat(2_300_000)}"`),
    statuses: [413],
  },
  { name: '7 MB of quotes', body: within(`"${longOperation} ${'\\"'.repeat(3_500_000)}"`), statuses: [413] },
  {
    name: 'a gzip bomb',
    body: gzipSync(Buffer.alloc(50_000_000, 0x20)),
    headers: { 'content-encoding': 'gzip' },
    statuses: [415],
  },
  {
    name: 'another charset',
    body: Buffer.from('{"query":"{ __typename }"}', 'utf16le'),
    headers: { 'content-type': 'application/json; charset=utf-16le' },
    statuses: [415],
  },
];
