import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readApiErrors } from '@parley/stories/api-sources';
import { readContract } from '@parley/stories/contract';
import test from 'ava';
import { root } from '../root.ts';
import { type ApiPageSources, apiPage, shortJson } from './api-pages.ts';

const sdl = `"A *lamp*."
type Lamp { "Its id." id: Int! "How it shines." light: Light! }
enum Light { "Bright." DAY NIGHT }
"What changes."
input LampInput { "Never <blank>." name: String! part: PartInput }
input PartInput { "The part." id: Int! }
type Query {
  "A lamp; null where it is absent."
  lamp("The lamp." id: Int!): Lamp @access(by: [JWT])
}
type Mutation {
  "Changes a lamp."
  changeLamp(input: LampInput!, light: Light = DAY): [Lamp!]! @access(by: [API_KEY]) @throttle(requests: 5, windowSeconds: 60)
}`;

const sources: ApiPageSources = {
  unit: 'light',
  sdl,
  contract: new Map([
    ['Query.lamp', { by: ['JWT'] }],
    ['Mutation.changeLamp', { by: ['API_KEY'], throttle: { requests: 5, windowSeconds: 60, failsClosed: true } }],
  ]),
  errors: new Map([
    ['lamp', []],
    ['changeLamp', [{ code: 'CONFLICT', reason: 'LAMP_IN_USE', when: 'somebody reads' }]],
  ]),
  examples: [
    { operation: 'lamp', query: '{ lamp(id: 1) { id } }', answer: { data: { lamp: { id: 1 } } } },
    { operation: 'changeLamp', query: 'mutation { changeLamp }', variables: { light: 'DAY' }, events: [{ data: 1 }] },
  ],
};

test('a page has the credential, throttle, arguments, errors, example and types of each operation', (t) => {
  const { text: page, problems } = apiPage(sources);
  t.deepEqual(problems, []);
  const [, lamp = '', change = '', types = ''] = page.split(/^## /mu);
  for (const part of [
    'A lamp; null where it is absent.',
    '- query, answers [Lamp](#lamp)\n- credential: access token\n- also for: members of a suspended tenant\n- throttle: none',
    '- `id` (Int!): The lamp.',
    'Errors: [those of any operation](../API.md#errors).',
    '```graphql\n{ lamp(id: 1) { id } }\n```\n\nanswers\n\n```json\n{ "data": { "lamp": { "id": 1 } } }\n```',
  ])
    t.true(lamp.includes(part), `${part}\nin\n${lamp}`);
  for (const part of [
    '- mutation, answers \\[[Lamp](#lamp)!\\]!\n- credential: API key\n- throttle: 5 calls in 60 s from one client address; `UNAVAILABLE` while',
    '- `input` (LampInput!): What changes.\n- `input.name` (String!): Never \\<blank>.\n- `input.part` (PartInput)\n- `input.part.id` (Int!): The part.',
    '- `light` ([Light](#light) = DAY)',
    '- `CONFLICT`, `LAMP_IN_USE`: somebody reads',
    'with the variables\n\n```json\n{ "light": "DAY" }\n```\n\nsends\n\n```json\n{ "data": 1 }\n```',
  ])
    t.true(change.includes(part), `${part}\nin\n${change}`);
  for (const part of [
    '### Lamp\n\nA \\*lamp\\*.\n\n- `id` (Int!): Its id.',
    '### Light\n\n- `DAY`: Bright.\n- `NIGHT`',
  ])
    t.true(types.includes(part), `${part}\nin\n${types}`);
  t.true(page.includes('Queries:\n[lamp](#lamp)\n\nMutations:\n[changeLamp](#changelamp)\n'));
});

test('missing parts of an operation are reported, and the page is generated without them', (t) => {
  const without: [Partial<ApiPageSources>, string[]][] = [
    [
      { contract: new Map() },
      ['gateway/contract.json has no Query.lamp', 'gateway/contract.json has no Mutation.changeLamp'],
    ],
    [{ errors: new Map([['lamp', []]]) }, ['gateway/api/errors.json has no changeLamp']],
    [
      { examples: sources.examples.slice(0, 1) },
      ['gateway/api/examples/light.json has no changeLamp: see gateway/ADD-AN-OPERATION.md'],
    ],
    [
      { errors: new Map([...sources.errors, ['lamp', [{ code: 'GONE', when: 'it is' }]]]) },
      ['gateway/api/errors.json has the code GONE, which is none'],
    ],
  ];
  for (const [given, expected] of without) {
    const { text, problems } = apiPage({ ...sources, ...given });
    t.deepEqual(problems, expected);
    t.regex(text, /## changeLamp\n\nChanges a lamp\./u);
  }
});

test('listed errors belong to served operations, and their reasons exist in services', (t) => {
  const errors = readApiErrors();
  const served = [...readContract()].filter(([, rule]) => rule.served).map(([name]) => name.split('.')[1] ?? '');
  t.deepEqual([...errors.keys()].toSorted(), served.toSorted());
  const files = globSync('services/**/src/**/*.ts', { cwd: root, exclude: (name) => name === 'node_modules' });
  const code = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  const reasons = new Set([...errors.values()].flat().flatMap(({ reason }) => reason ?? []));
  t.deepEqual(
    [...reasons].filter((reason) => !code.includes(`'${reason}'`)),
    [],
  );
});

test('JSON is on one line where it fits in 80 columns', (t) => {
  t.is(shortJson({ a: [1, { b: null }], c: {} }), '{ "a": [1, { "b": null }], "c": {} }');
  const long = 'x'.repeat(70);
  t.is(
    shortJson({ first: { text: long, n: 1 }, all: [1] }),
    `{
  "first": {
    "text": "${long}",
    "n": 1
  },
  "all": [1]
}`,
  );
});
