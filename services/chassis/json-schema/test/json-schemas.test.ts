import { createServer } from 'node:http';
import type { DomainError } from '@parley/kernel/errors';
import { listen } from '@parley/kernel/http/listen';
import test from 'ava';
import { jsonSchemas } from '../src/json-schemas.ts';
import { patternsOf } from '../src/linear-regexp.ts';

const { argsProblems, schemaProblems } = jsonSchemas();

const problems = (schema: unknown, args: unknown) =>
  argsProblems(schema, args, 'args').map(({ path, message }) => `${path} ${message}`);
const schemaTexts = (schema: unknown) =>
  schemaProblems(schema, 'argsSchema').map(({ path, message }) => `${path} ${message}`);

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = {};
  for (let level = 0; level < levels; level += 1) value = wrap(value);
  return value;
}

/** A schema of 30 nested definitions, each of which checks the next one twice. */
const doubling = {
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: 31 }, (_, n) => [
      `d${n}`,
      n === 30 ? { type: 'object' } : { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]),
  ),
};

function processorMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

test('all problems are reported by path, without the values', (t) => {
  const schema = {
    type: 'object',
    properties: {
      city: { type: 'string', maxLength: 3 },
      days: { type: 'array', items: { type: 'integer' } },
      unit: { enum: ['C', 'F'] },
      'a/b~c': { type: 'boolean' },
    },
    required: ['city', 'country'],
    additionalProperties: false,
  };
  const args = { city: 'canary-city', days: [1, 'canary'], unit: 'canary', 'a/b~c': 'canary', extra: 'canary' };
  t.deepEqual(problems(schema, args).sort(), [
    'args.a/b~c must be boolean',
    'args.city must NOT have more than 3 characters',
    'args.country must be given',
    'args.days.1 must be integer',
    'args.extra must not be given',
    'args.unit must be one of "C", "F"',
  ]);
  t.deepEqual(problems(schema, { city: 'Ulm', country: 'x' }), ['args.country must not be given']);
  t.deepEqual(problems({ ...schema, additionalProperties: true }, { city: 'Ulm', country: 'DE' }), []);
});

test('at most 20 problems are reported, and of large args the first', (t) => {
  const schema = { additionalProperties: { type: 'string' } };
  const numbers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, n]));
  t.is(problems(schema, numbers(100)).length, 20);
  t.is(problems({ ...schema, title: 'a', allOf: Array.from({ length: 20 }, () => ({})) }, numbers(20_000)).length, 1);
});

test('draft-07 is chosen by $schema, 2020-12 is the default, others are refused', (t) => {
  const pair = { type: 'object', properties: { pair: { items: [{ type: 'string' }, { type: 'number' }] } } };
  const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', ...pair };
  t.deepEqual(problems(draft7, { pair: ['a', 'b'] }), ['args.pair.1 must be number']);
  t.deepEqual(schemaTexts(pair), ['argsSchema.properties.pair.items must be object,boolean']);

  const prefix = { properties: { pair: { prefixItems: [{ type: 'string' }], items: false } } };
  t.deepEqual(problems(prefix, { pair: ['a', 'b'] }), ['args.pair must NOT have more than 1 items']);
  t.deepEqual(problems({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...prefix }, { pair: [1] }), [
    'args.pair.0 must be string',
  ]);
  for (const $schema of ['http://json-schema.org/draft-04/schema#', 'http://example.test/mine', 7])
    t.deepEqual(schemaTexts({ $schema }), ['argsSchema.$schema must be draft-07 or 2020-12']);
});

test('a schema that is not valid is refused with the place', (t) => {
  t.deepEqual(schemaTexts({ properties: { city: { type: 'text', minLength: -1 } } }), [
    'argsSchema.properties.city.type must be one of "array", "boolean", "integer", "null", "number", "object", "string"',
    'argsSchema.properties.city.minLength must be >= 0',
  ]);
  for (const schema of [null, true, 'x', 7, []])
    t.deepEqual(schemaTexts(schema), ['argsSchema must be a JSON Schema, which is an object'], JSON.stringify(schema));
  const { kind, reason } = t.throws<DomainError>(() => argsProblems({ type: 'x' }, {}, 'args'));
  t.deepEqual([kind, reason], ['invalid', 'SCHEMA_INVALID']);
});

test('a remote $ref is refused and never fetched', async (t) => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end('{}');
  });
  const address = await listen(server, 0, '127.0.0.1');
  t.teardown(() => server.close());
  const url = `http://${address}/schema`;
  for (const schema of [
    { $ref: url },
    { $id: url, $ref: 'other' },
    { $dynamicRef: url },
    { $ref: 'file:///etc/passwd' },
  ])
    t.regex(schemaTexts(schema)[0] ?? '', /^argsSchema cannot be compiled: .*reference/, JSON.stringify(schema));
  t.regex(schemaTexts({ $schema: url })[0] ?? '', /must be draft-07 or 2020-12/);
  t.is(requests, 0);
});

test('local references are followed, recursive ones too', (t) => {
  const tree = {
    type: 'object',
    properties: { name: { $ref: '#/$defs/name' }, children: { type: 'array', items: { $ref: '#' } } },
    $defs: { name: { type: 'string' } },
  };
  t.deepEqual(problems(tree, { name: 'a', children: [{ name: 'b', children: [{ name: 7 }] }] }), [
    'args.children.0.children.0.name must be string',
  ]);
  const named = { $id: 'https://example.test/a', $ref: 'b', $defs: { b: { $id: 'b', required: ['x'] } } };
  t.deepEqual(problems(named, {}), ['args.x must be given']);
});

test("one schema's $id does not reach another", (t) => {
  const $id = 'https://example.test/shared';
  t.deepEqual(schemaTexts({ $id, type: 'object' }), []);
  t.deepEqual(schemaTexts({ $id, type: 'object', required: ['x'] }), []);
  t.regex(schemaTexts({ $ref: $id })[0] ?? '', /can't resolve reference/);
});

test('evil patterns take less than 50 ms of processor time', (t) => {
  problems({ properties: { x: { pattern: '^a+$' } } }, { x: 'a' });
  const evil = ['^(a+)+$', '^(a|aa)+$', '^(a|a?)+$', '(.*a){25}$', '^(([a-z])+.)+[A-Z]([a-z])+$', '(x+x+)+y'];
  const text = `${'a'.repeat(30_000)}!`;
  for (const pattern of evil) {
    const used = processorMs(() => {
      t.is(problems({ properties: { x: { pattern } } }, { x: text }).length, 1, pattern);
      problems({ patternProperties: { [pattern]: false } }, { [text]: 1 });
    });
    t.true(used < 100, `${pattern}: ${used} ms for both`);
  }
});

test('patterns mean what they mean in JavaScript, apart from what cannot be matched in linear time', (t) => {
  const matches = (pattern: string, x: string) => problems({ properties: { x: { pattern } } }, { x }).length === 0;
  t.true(matches('^[\\w.-]+\\/\\d{2}$', 'a-b.c/42'));
  t.true(matches('^\\u00e9\\u{1F600}$', 'é😀'));
  t.true(matches('^.$', '😀'));
  t.true(matches('b', 'abc'));
  t.false(matches('^b', 'a\nb'));
  t.true(matches('^(?<year>\\d{4})$', '2026'));
  for (const pattern of ['(?=a)b', '(?<!a)b', '(a)\\1', '[', '(a{1000}){1000}', '(?:a?){500}a{500}', 'a'.repeat(1_001)])
    t.regex(schemaTexts({ properties: { x: { pattern } } })[0] ?? '', /^argsSchema cannot be compiled: /, pattern);
});

test('different patterns in one schema are not taken for one another', (t) => {
  const schema = { properties: { a: { pattern: '^a$' }, b: { pattern: '^b$' } } };
  t.deepEqual(problems(schema, { a: 'a', b: 'b' }), []);
  t.is(problems(schema, { a: 'b', b: 'a' }).length, 2);
});

test('known formats are checked, unknown ones ignored', (t) => {
  const check = (format: string, x: unknown) => problems({ properties: { x: { format } } }, { x }).length === 0;
  const valid: Record<string, string> = {
    date: '2024-02-29',
    time: '23:59:60Z',
    'date-time': '2026-11-28T09:00:00.5+01:00',
    email: 'ada@example.test',
    ipv4: '192.0.2.1',
    ipv6: '2001:db8::1',
    uri: 'https://example.test/a?b#c',
    uuid: '123e4567-e89b-12d3-a456-426614174000',
  };
  for (const [format, text] of Object.entries(valid)) {
    t.true(check(format, text), format);
    for (const other of ['', 'x', `${text}\n`, '2023-02-29'])
      if (format !== 'date' || other !== text) t.false(check(format, other), `${format} ${JSON.stringify(other)}`);
    t.true(check(format, 7), 'formats are of texts');
  }
  t.true(check('no-such-format', 'x'));
});

test('hostile schemas are refused before they cost anything', (t) => {
  const deep = nested(10_000, (inner) => ({ properties: { a: inner } }));
  const used = processorMs(() => {
    t.deepEqual(schemaTexts(deep), ['argsSchema must not be nested deeper than 64 levels']);
    t.deepEqual(schemaTexts({ description: 'a'.repeat(70_000) }), ['argsSchema must have at most 65536 bytes as JSON']);
    t.deepEqual(schemaTexts({ enum: Array.from({ length: 9_000 }, (_, n) => n) }), [
      'argsSchema must have at most 8000 values',
    ]);
  });
  t.true(used < 50, `${used} ms`);
});

test('references do not multiply the code', (t) => {
  const large = { properties: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`p${n}`, { minimum: n }])) };
  const schema = { $defs: { large }, allOf: Array.from({ length: 500 }, () => ({ $ref: '#/$defs/large' })) };
  const own = jsonSchemas();
  const used = processorMs(() => t.deepEqual(own.schemaProblems(schema, ''), []));
  t.true(used < 1_000, `${used} ms`);
});

test('a schema whose check would take for ever is ended, and then rests for a minute', (t) => {
  let now = 0;
  const own = jsonSchemas({ now: () => now });
  const reasonOf = (schema: unknown, args: object = {}) =>
    t.throws<DomainError>(() => own.argsProblems(schema, args, 'args')).reason;

  t.deepEqual(own.schemaProblems(doubling, ''), []);
  t.is(reasonOf(doubling), 'SCHEMA_TOO_SLOW');
  t.true(processorMs(() => t.is(reasonOf(doubling), 'SCHEMA_TOO_SLOW')) < 10);
  now = 60_001;
  t.true(processorMs(() => t.is(reasonOf(doubling), 'SCHEMA_TOO_SLOW')) > 10);

  const pairs = Array.from({ length: 15_000 }, (_, n) => ({ n }));
  t.is(reasonOf({ properties: { pairs: { uniqueItems: true } } }, { pairs }), 'SCHEMA_TOO_SLOW');
  t.is(reasonOf({ $dynamicRef: '#a', $dynamicAnchor: 'a' }), 'SCHEMA_TOO_SLOW');
});

test('args are an object of limited size and depth', (t) => {
  for (const args of [null, [], 'x', 7, true]) t.deepEqual(problems({}, args), ['args must be an object']);
  t.deepEqual(problems(null, { any: 1 }), []);
  t.deepEqual(
    problems(
      {},
      nested(10_000, (a) => ({ a })),
    ),
    ['args must not be nested deeper than 64 levels'],
  );
  t.deepEqual(problems({}, { a: 'x'.repeat(300_000) }), ['args must have at most 262144 bytes as JSON']);
  t.deepEqual(problems({}, { a: Array.from({ length: 60_000 }, () => 1) }), ['args must have at most 50000 values']);
});

test("keys of an object's prototype are neither present nor special", (t) => {
  for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    t.deepEqual(problems({ required: [key] }, {}), [`args.${key} must be given`]);
    t.deepEqual(problems({ required: [key] }, JSON.parse(`{"${key}": 1}`)), []);
    t.deepEqual(problems({ additionalProperties: false }, JSON.parse(`{"${key}": 1}`)), [
      `args.${key} must not be given`,
    ]);
  }
  const schema = JSON.parse('{"__proto__": {"polluted": 1}, "properties": {"__proto__": {"type": "string"}}}');
  t.deepEqual(problems(schema, JSON.parse('{"__proto__": {"polluted": 1}}')), []);
  t.false('polluted' in {});
});

test('names and texts of a schema never become code', (t) => {
  const canary = globalThis as { pwned?: boolean };
  const evil = [
    '"+(globalThis.pwned=true)+"',
    "'+(globalThis.pwned=true)+'",
    '`${globalThis.pwned=true}`',
    '\u2028globalThis.pwned=true//',
    '*/globalThis.pwned=true//',
    '\\"];globalThis.pwned=true;//',
  ];
  for (const text of evil) {
    const schemas = [
      { properties: { [text]: { type: 'string' } }, required: [text], dependentRequired: { [text]: [text] } },
      { enum: [text] },
      { const: { [text]: text } },
      { properties: { a: { pattern: text } } },
      { patternProperties: { [text]: false } },
      { format: text },
      { $id: text },
      { $anchor: text },
      { $comment: text, title: text, description: text, default: text },
      { $ref: `#/$defs/${text}`, $defs: { [text]: { type: 'object' } } },
      { [text]: text },
      { minimum: text, maxLength: text, multipleOf: text },
      { discriminator: { propertyName: text }, oneOf: [] },
      { $data: text, const: { $data: text } },
    ];
    for (const schema of schemas)
      for (const lenient of [false, true])
        try {
          argsProblems(schema, { a: text, [text]: 1 }, 'args', { lenient });
        } catch (error) {
          t.is((error as DomainError).kind, 'invalid');
        }
  }
  t.is(canary.pwned, undefined);
});

test("ajv's own $async does not make a promise of the check", (t) => {
  t.deepEqual(problems({ $async: true, required: ['x'] }, {}), ['args.x must be given']);
  t.regex(schemaTexts({ $ref: '#/$defs/a', $defs: { a: { $async: true } } })[0] ?? '', /cannot be compiled/);
});

test('lone surrogates and NUL are checked like other text', (t) => {
  const schema = { properties: { x: { type: 'string', minLength: 2, pattern: '^[a-z]+$' } } };
  t.is(problems(schema, { x: '\ud83d\0' }).length, 1);
  const [path = ''] = problems({ additionalProperties: false }, { 'half \ud83d': 1 });
  t.true(path.isWellFormed());
});

test('in lenient mode an invalid schema of a server is applied as far as possible', (t) => {
  const lenient = { lenient: true };
  const sloppy = {
    $schema: 'http://json-schema.org/draft-04/schema#',
    id: 'http://example.test/tool',
    properties: { x: { pattern: '^(?!a)', type: 'string' }, pair: { items: [{ type: 'string' }] } },
    required: ['x'],
  };
  t.deepEqual(schemaProblems(sloppy, '', lenient), []);
  t.deepEqual(argsProblems(sloppy, { x: 'abc', pair: [7] }, 'args', lenient), [
    { path: 'args.pair.0', message: 'must be string' },
  ]);
  t.deepEqual(argsProblems({ 'x-vendor': 1, type: 'object', nullable: true }, {}, 'args', lenient), []);
  t.regex(schemaProblems({ type: 'int' }, '', lenient)[0]?.message ?? '', /cannot be compiled/);
});

test('a schema is compiled once, and a bounded number is kept', (t) => {
  const own = jsonSchemas({ maxKept: 3 });
  for (let n = 0; n < 10; n += 1) {
    own.argsProblems({ type: 'object', title: `${n}` }, {}, '');
    own.argsProblems({ type: 'object', title: `${n}` }, {}, '');
    t.is(own.kept, Math.min(n + 1, 3));
  }
});

/** A short schema whose patterns have tens of thousands of steps. */
const repeating = (from: number) => ({
  properties: Object.fromEntries(
    Array.from({ length: 200 }, (_, n) => [`p${n}`, { type: 'string', pattern: `^[a-z]{1,${from + n}}$` }]),
  ),
});

test('the patterns of a schema have a bounded number of steps altogether', (t) => {
  t.regex(schemaTexts(repeating(300))[0] ?? '', /its patterns repeat too much altogether/);
  const lenient = patternsOf({ isLenient: true });
  for (let n = 0; n < 200; n += 1) lenient.of(`^[a-z]{1,${300 + n}}$`);
  t.true(lenient.steps < 11_000, `${lenient.steps}`);
  t.true(lenient.of('^[a-z]$').test('7'));
  const same = {
    properties: Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`p${n}`, { pattern: '^a{300}$' }])),
  };
  t.deepEqual(schemaTexts(same), []);
});

test('schemas full of patterns take bounded memory, and a tenant only its part of it', (t) => {
  const own = jsonSchemas();
  own.argsProblems({ title: "a stranger's" }, {}, '', { tenantId: 2 });
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 40; n += 1) own.schemaProblems(repeating(300 + n), '', { lenient: true, tenantId: 1 });
  t.true(process.memoryUsage().heapUsed - before < 300 * 2 ** 20);
  t.true(own.keptBytes < 17 * 2 ** 20, `${own.keptBytes}`);
  const { kept } = own;
  own.argsProblems({ title: "a stranger's" }, {}, '', { tenantId: 2 });
  t.is(own.kept, kept);
});

test('a tenant whose schemas have used up its time must wait, and other tenants need not', (t) => {
  let now = 0;
  const own = jsonSchemas({ now: () => now, tenantTime: { burstMs: 200, msPerSecond: 50 } });
  const wide = (n: number) => ({
    title: `${n}`,
    properties: Object.fromEntries(Array.from({ length: 20 }, (_, p) => [`p${p}`, { type: 'string', maxLength: p }])),
  });
  const check = (n: number, tenantId: number) =>
    own.argsProblems(wide(n), { p1: 'abc' }, '', { lenient: true, tenantId });
  const used = processorMs(() => {
    const { reason } = t.throws<DomainError>(() => {
      for (let n = 0; n < 2_000; n += 1) check(n, 1);
    });
    t.is(reason, 'SCHEMA_TOO_SLOW');
  });
  t.true(used < 600, `${used} ms`);
  t.is(check(0, 2).length, 1);
  now += 2_000;
  t.is(check(5_000, 1).length, 1);
});

test('the problems of a schema that takes too long to compile are no second cost', (t) => {
  const slow = (title: string) => ({
    title,
    properties: Object.fromEntries(Array.from({ length: 1_900 }, (_, n) => [`p${n}`, { enum: [n], minimum: n }])),
  });
  problems({ properties: { a: { type: 'string' } } }, { a: 1 });
  const used = processorMs(() => {
    for (let n = 0; n < 5; n += 1)
      t.throws<DomainError>(() => argsProblems(slow('a'), { p1: 'x' }, '', { lenient: true }));
  });
  t.true(used < 150, `${used} ms`);
});
