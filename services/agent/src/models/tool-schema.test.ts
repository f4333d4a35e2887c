import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import type { JSONSchema7 } from '@ai-sdk/provider';
import { schemaLimits } from '@parley/json-schema/json-schemas';
import { isJsonObject } from '@parley/kernel/json';
import test from 'ava';
import { declaredTool, plainTool } from './tool-schema.ts';

const declared = (inputSchema: unknown, description?: string) =>
  declaredTool({ name: 'tool', inputSchema, ...(description !== undefined && { description }) });
/** Returns the converted schema of a property `it`. */
const property = (schema: unknown, more: object = {}) =>
  declared({ type: 'object', properties: { it: schema }, ...more }).inputSchema.properties?.['it'];

test('an ordinary schema is sent as it is', (t) => {
  const schema = {
    type: 'object',
    properties: {
      place: { type: 'string', description: 'A town.', minLength: 1 },
      unit: { type: 'string', enum: ['C', 'F'] },
      days: { type: 'integer', minimum: 1, maximum: 7 },
      tags: { type: 'array', items: { type: 'string' } },
      at: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
    },
    required: ['place', 'at'],
  };
  t.deepEqual(declared(schema, 'The weather.'), { description: 'The weather.', inputSchema: schema });
});

test('the root is an object with properties and nothing that a format refuses there', (t) => {
  for (const empty of [
    undefined,
    null,
    true,
    {},
    { type: 'object' },
    { $schema: 'x', title: 'T', additionalProperties: false },
  ]) {
    t.deepEqual(declared(empty).inputSchema, { type: 'object', properties: {} });
  }
  t.deepEqual(declared({ properties: { a: { type: 'string' } } }).inputSchema.properties, { a: { type: 'string' } });
  const either = { type: 'object', description: 'Of all.' };
  const a = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a', 'b'] };
  const b = { properties: { b: { type: 'string' } }, required: ['b'] };
  for (const key of ['anyOf', 'oneOf']) {
    t.deepEqual(declared({ ...either, [key]: [a, b] }, 'It.'), {
      description: 'It.\n\nOf all.',
      inputSchema: { type: 'object', properties: a.properties, required: ['b'] },
    });
  }
  t.deepEqual(declared({ allOf: [a, b] }).inputSchema.required, ['a', 'b']);
});

test('references are resolved, recursive ones end, and none is fetched', (t) => {
  const person = { type: 'object', properties: { name: { type: 'string' }, boss: { $ref: '#/$defs/person' } } };
  const definitions = { 'a/b': { type: 'integer' } };
  const { inputSchema } = declared({
    type: 'object',
    properties: {
      it: { $ref: '#/$defs/person' },
      n: { $ref: '#/definitions/a~1b' },
      far: { $ref: 'https://x.test/s' },
      no: { $ref: '#/$defs/none' },
    },
    $defs: { person },
    definitions,
  });
  t.like(inputSchema.properties?.['it'], { type: 'object', properties: { name: { type: 'string' } } });
  t.deepEqual(inputSchema.properties?.['n'], { type: 'integer' });
  t.notRegex(JSON.stringify(inputSchema), /\$ref|x\.test/u);
  t.notThrows(() => declared({ $ref: '#' }));
  t.notThrows(() => declared({ type: 'object', allOf: [{ $ref: '#' }] }));
  t.deepEqual(
    declared({ $ref: '#/$defs/root', $defs: { root: { type: 'object', properties: { a: { type: 'string' } } } } })
      .inputSchema.properties,
    {
      a: { type: 'string' },
    },
  );
});

test('types are always given, one for each schema', (t) => {
  t.deepEqual(property({ properties: { a: { type: 'string' } } }), {
    type: 'object',
    properties: { a: { type: 'string' } },
  });
  t.deepEqual(property({ items: { type: 'string' } }), { type: 'array', items: { type: 'string' } });
  t.deepEqual(property({ type: 'array', items: [{ type: 'string' }, { type: 'string' }] }), {
    type: 'array',
    items: { type: 'string' },
  });
  t.deepEqual(property({ minimum: 1 }), { type: 'number', minimum: 1 });
  t.deepEqual(property({ type: ['string', 'null'], description: 'D' }), {
    anyOf: [{ type: 'string', description: 'D' }, { type: 'null' }],
  });
  t.deepEqual(property({ type: ['string', 'integer'] }), { anyOf: [{ type: 'string' }, { type: 'integer' }] });
  for (const any of [true, {}, { type: 'any' }, { type: 7 }, 'string', null, { not: {} }]) {
    t.like(property(any), { anyOf: [{ type: 'string' }, { type: 'number' }] });
  }
  t.is(property(false, { required: ['it'] }), undefined);
  t.is(
    declared({ type: 'object', properties: { it: false }, required: ['it', 'other'] }).inputSchema.required,
    undefined,
  );
});

test('values are listed for strings, and named for others', (t) => {
  t.deepEqual(property({ const: 'a' }), { type: 'string', enum: ['a'] });
  t.deepEqual(property({ enum: ['a', 'b', 'a', null] }), {
    anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }],
  });
  t.deepEqual(property({ enum: [1, 2], description: 'How many.' }), {
    type: 'number',
    description: 'How many.\n\nOne of: 1, 2',
  });
  t.like(property({ enum: ['', 'a'] }), { type: 'string', description: 'One of: "", "a"' });
});

test('keywords that only some formats support are written as text', (t) => {
  t.deepEqual(property({ type: 'string', format: 'email', pattern: '^.+@', default: 'a@b' }), {
    type: 'string',
    description: '(format: email; pattern: ^.+@; default: "a@b")',
  });
  t.deepEqual(property({ anyOf: [{ type: 'string' }, { type: 'null' }], description: 'D' }), {
    anyOf: [{ type: 'string', description: 'D' }, { type: 'null' }],
  });
  const { inputSchema, description } = declared({
    type: 'object',
    properties: { 'a b': { type: 'string' }, ['x'.repeat(80)]: {}, ok: { type: 'string' } },
    required: ['a b', 'ok'],
  });
  t.deepEqual(inputSchema, { type: 'object', properties: { ok: { type: 'string' } }, required: ['ok'] });
  t.regex(description, /^Further properties: "a b", "x+"/u);
});

test('a schema that cannot be sent stands in the description, and all of it is bounded', (t) => {
  const wide = {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`p${n}`, {}])),
  };
  let deep: object = { type: 'string' };
  for (let level = 0; level < 5_000; level += 1) deep = { type: 'object', properties: { a: deep } };
  const bomb = {
    type: 'object',
    properties: { it: { $ref: '#/$defs/d0' } },
    $defs: Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [
        `d${n}`,
        {
          type: 'object',
          properties: Object.fromEntries(['a', 'b', 'c', 'd'].map((key) => [key, { $ref: `#/$defs/d${n + 1}` }])),
        },
      ]),
    ),
  };
  for (const schema of [wide, bomb, { type: 'string' }, { type: 'array' }]) {
    const { inputSchema, description } = declared(schema, 'It.');
    t.deepEqual(inputSchema, { type: 'object', properties: {} });
    t.regex(description, /^It\.\n\nIts arguments have this JSON Schema: \{/u);
    t.true(description.length < 4_000);
  }
  t.true(JSON.stringify(declared(deep).inputSchema).length < 30_000);
  t.like(
    plainTool({
      name: 'n',
      description: 'It.',
      inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
    }),
    {
      name: 'n',
      description: 'It.\n\nIts arguments have this JSON Schema: {"type":"object","properties":{"a":{"type":"string"}}}',
      inputSchema: { type: 'object', properties: {} },
    },
  );
});

const numbered = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, value]));
const repeated = (count: number, value: unknown) => Array.from({ length: count }, () => value);
const pointer = (length: number) => `#/$defs/d${'/a'.repeat(length / 2)}`;

const hostileSchemas: [what: string, schema: object][] = [
  [
    'references to many properties, merged',
    { allOf: repeated(900, { $ref: '#/d' }), d: { properties: numbered(3_000, {}) } },
  ],
  [
    'a merge within a merge',
    {
      allOf: repeated(30, { $ref: '#/d' }),
      d: { allOf: repeated(30, { $ref: '#/e' }) },
      e: { properties: numbered(1_000, 1) },
    },
  ],
  ['references to a schema of many keywords', { properties: numbered(390, { $ref: '#/d' }), d: numbered(5_000, 1) }],
  [
    'a chain of long references',
    { properties: numbered(390, { $ref: '#/d', title: 't' }), d: { $ref: pointer(40_000) } },
  ],
  [
    'many long references',
    {
      properties: Object.fromEntries(
        Array.from({ length: 60 }, (_, n) => [`p${n}`, { $ref: pointer(980 + 2 * (n % 9)) }]),
      ),
    },
  ],
  [
    'references to many required names',
    { anyOf: repeated(900, { $ref: '#/d' }), d: { required: Array.from({ length: 3_000 }, (_, n) => `r${n}`) } },
  ],
  [
    'references to many values',
    { properties: numbered(390, { $ref: '#/d' }), d: { enum: Array.from({ length: 5_000 }, (_, n) => `v${n}`) } },
  ],
  [
    'references to many numbers',
    { properties: numbered(390, { $ref: '#/d' }), d: { enum: Array.from({ length: 5_000 }, (_, n) => n) } },
  ],
  ['references to many types', { properties: numbered(390, { $ref: '#/d' }), d: { type: repeated(6_000, 'string') } }],
  [
    'references to a long default',
    {
      properties: numbered(390, { $ref: '#/d' }),
      d: { type: 'string', default: Array.from({ length: 6_000 }, (_, n) => n) },
    },
  ],
  [
    'references to a long description',
    { properties: numbered(390, { $ref: '#/d' }), d: { type: 'string', description: ' '.repeat(50_000) } },
  ],
  [
    'many names that no format takes',
    { properties: Object.fromEntries(Array.from({ length: 4_000 }, (_, n) => [`${n % 2 ? ' ' : 'x'}${n}`, {}])) },
  ],
];

for (const [what, schema] of hostileSchemas) {
  test(`a short schema costs little, whatever it repeats: ${what}`, (t) => {
    t.true(JSON.stringify(schema).length < schemaLimits.maxBytes);
    const before = process.threadCpuUsage();
    const { inputSchema, description } = declared(schema, 'It.');
    const { user } = process.threadCpuUsage(before);
    t.true(user < 100_000, `${user / 1_000} ms`);
    t.true(JSON.stringify(inputSchema).length + description.length < 30_000);
  });
}

test('a schema is converted once, and not at all where it has too many values or levels', (t) => {
  const schema = () => ({ type: 'object', properties: numbered(390, { type: 'string' }), title: 'Converted once' });
  t.is(declared(schema()).inputSchema, declared(schema(), 'Other.').inputSchema);
  let deep: object = {};
  for (let level = 0; level < schemaLimits.maxDepth; level += 1) deep = { not: deep };
  for (const tooMuch of [
    { properties: { a: {} }, x: repeated(8_000, 1) },
    { properties: { a: {} }, x: deep },
  ]) {
    const { inputSchema, description } = declared(tooMuch);
    t.deepEqual(inputSchema, { type: 'object', properties: {} });
    t.regex(description, /^Its arguments have this JSON Schema: /u);
  }
});

/**
 * Finds what at least one format would refuse: each schema must have a type or only a choice, arrays must have items,
 * and required properties must exist.
 */
function problemsOf(schema: unknown, path = '$'): string[] {
  if (!isJsonObject(schema)) return [`${path} is no schema`];
  const { type, anyOf, items, properties = {}, additionalProperties }: JSONSchema7 = schema;
  const required: unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const unknown = Object.keys(schema).filter((key) => !keywords.has(key));
  const own = [
    ...unknown.map((key) => `${path} has ${key}`),
    ...((typeof type === 'string') === (anyOf === undefined) ? [] : [`${path} has not one type`]),
    ...(anyOf && Object.keys(schema).length > 1 ? [`${path} has more than a choice`] : []),
    ...(type === 'array' && !items ? [`${path} has no items`] : []),
    ...required
      .filter((name) => !Object.hasOwn(properties, String(name)))
      .map((name) => `${path} lacks ${String(name)}`),
  ];
  const within = Object.entries(properties).flatMap(([key, each]) => problemsOf(each, `${path}.${key}`));
  const others = [
    ...(anyOf ?? []),
    ...(items === undefined ? [] : [items]),
    ...(additionalProperties === undefined ? [] : [additionalProperties]),
  ];
  return [...own, ...within, ...others.flatMap((each, n) => problemsOf(each, `${path}[${n}]`))];
}
const keywords = new Set(
  [
    'type',
    'description',
    'properties',
    'required',
    'items',
    'anyOf',
    'enum',
    'additionalProperties',
    'minLength',
  ].concat('maxLength', 'minimum', 'maximum'),
);

test('whatever the schema, what is sent keeps to what all formats take, and their SDKs take it', async (t) => {
  let seed = 7;
  const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  const pick = (...all: unknown[]) => all[random(all.length)];
  const types: unknown[] = ['object', 'object', 'array', 'string', 'number', 'integer', 'boolean', 'null', 'file', 3];
  const moreTypes: unknown[] = [null, ['string', 'null'], ['array', 'object'], []];
  const schemaOf = (depth: number): unknown => {
    if (depth > 4 || random(8) === 0)
      return pick(true, false, null, {}, [], 'x', 1, { $ref: '#/$defs/d' }, { $ref: '#' });
    const made: Record<string, unknown> = {};
    if (random(3) > 0) made['type'] = pick(...types, ...moreTypes);
    if (random(3) === 0)
      made['properties'] = Object.fromEntries(
        Array.from({ length: random(4) }, () => [
          String(pick('a', 'b c', '__proto__', 'd.e', '€')),
          schemaOf(depth + 1),
        ]),
      );
    if (random(4) === 0) made['required'] = pick(['a', 'z'], 'a', [1], ['a', 'a']);
    if (random(5) === 0) made['items'] = pick(schemaOf(depth + 1), [schemaOf(depth + 1)]);
    for (const key of ['anyOf', 'oneOf', 'allOf'])
      if (random(7) === 0) made[key] = pick([schemaOf(depth + 1), schemaOf(depth + 1)], [], {}, null);
    if (random(6) === 0) made['enum'] = pick(['a', 1, null], [], 'a', [{}], ['\ud83d']);
    if (random(8) === 0) made['const'] = pick('a', null, 4, {});
    if (random(8) === 0) made['additionalProperties'] = schemaOf(depth + 1);
    if (random(6) === 0)
      Object.assign(made, {
        description: pick('d', 7, '\ud83d'),
        format: pick('uri', 1),
        minLength: pick(1, 'x'),
        default: {},
        if: {},
        patternProperties: {},
      });
    if (depth === 0) made['$defs'] = { d: schemaOf(1) };
    return made;
  };
  const fetched: string[] = [];
  let inWords = 0;
  const fetch = async (_: unknown, init?: RequestInit) => {
    fetched.push(String(init?.body));
    return new Response('{}', { status: 500 });
  };
  const models = [
    createGoogleGenerativeAI({ apiKey: 'k', fetch })('gemini-2.5-flash'),
    createAnthropic({ apiKey: 'k', fetch })('claude-sonnet-4-5'),
  ];
  for (let run = 0; run < 400; run += 1) {
    const inputSchema = schemaOf(0);
    const sent = declared(inputSchema);
    if (sent.description.startsWith('Its arguments')) inWords += 1;
    t.deepEqual(problemsOf(sent.inputSchema), [], JSON.stringify(inputSchema));
    t.is(sent.inputSchema.type, 'object');
    t.true(Object.keys(sent.inputSchema).every((key) => ['type', 'properties', 'required'].includes(key)));
    if (run % 10 > 0) continue;
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
    for (const model of models) {
      const before = fetched.length;
      await t.throwsAsync(async () => model.doStream({ prompt, tools: [{ type: 'function', name: 'tool', ...sent }] }));
      t.is(fetched.length, before + 1, 'the SDK has sent it');
    }
  }
  t.true(inWords > 20 && inWords < 300, `${inWords} in words`);
});
