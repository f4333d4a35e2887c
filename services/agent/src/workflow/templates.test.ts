import { withinProcessorTime } from '@parley/json-schema/within-processor-time';
import test from 'ava';
import type { Json, JsonObject } from './definition.ts';
import type { Scope } from './scope.ts';
import { compileTemplate, countCode, renderJson, TemplateError } from './templates.ts';

function scope(variables: JsonObject = {}): Scope {
  return { message: 'Hi {{ session.id }}', variables, session: { id: 7 }, identity: null, nodes: {} };
}

const data: JsonObject = { n: 3, list: [1, { a: 'x' }], nothing: null, name: 'Ada', constructor: 'own', yes: true };
const text = (source: string) => compileTemplate(source).text(scope(data));
const value = (source: string) => compileTemplate(source).value(scope(data));

test('values are written into texts', (t) => {
  t.is(
    text('{{ variables.name | upcase }} {{ variables.n | plus: 1 }} {{ variables.list }} {{ variables.nothing }}.'),
    'ADA 4 1, {"a":"x"} .',
  );
  t.is(text('{% if identity %}known{% else %}unknown{% endif %} {{ session.id }}'), 'unknown 7');
});

test('a template of one output keeps the type of its value', (t) => {
  t.is(value('{{ variables.n }}'), 3);
  t.deepEqual(value('{{ variables.list }}'), [1, { a: 'x' }]);
  t.is(value('{{ variables.nothing }}'), null);
  t.is(value('{{ variables.absent }}'), null);
  t.is(value('{{ variables.yes }}'), true);
  t.is(value('{{ variables.n | plus: 1 }}'), 4);
  t.deepEqual(value('{{ (1..3) }}'), [1, 2, 3]);
  t.is(value('{{ variables.n }} '), '3 ');
  t.is(value('{{ variables.n }}{{ variables.n }}'), '33');
  t.is(value('plain'), 'plain');
});

test('strings of JSON are rendered, keys and other values stay', (t) => {
  const json: Json = { a: ['{{ variables.n }}', 1, null, { '{{ message }}': 'n: {{ variables.n }}' }] };
  t.deepEqual(renderJson(json, scope(data)), { a: [3, 1, null, { '{{ message }}': 'n: 3' }] });
  const own = renderJson(JSON.parse('{"__proto__": "{{ variables.n }}"}') as Json, scope(data));
  t.is(JSON.stringify(own), '{"__proto__":3}');
});

test('data is never a template', (t) => {
  t.is(text('{{ message }}'), 'Hi {{ session.id }}');
  t.is(value('{{ message }}'), 'Hi {{ session.id }}');
  t.deepEqual(renderJson({ a: '{{ message }}' }, scope()), { a: 'Hi {{ session.id }}' });
});

test('only own properties of data are read', (t) => {
  t.is(
    text(
      '{{ variables.constructor }}|{{ variables.__proto__ }}|{{ session.constructor.constructor }}|{{ message.constructor }}',
    ),
    'own|||',
  );
  t.is(text('{{ process.env.PATH }}{{ globalThis }}{{ require }}'), '');
});

test('a template that only repeats a value is recognized', (t) => {
  t.deepEqual(compileTemplate('{{ variables.x }}').repeats, ['variables', 'x']);
  t.deepEqual(compileTemplate('{{- nodes["a-b"].output -}}').repeats, ['nodes', 'a-b', 'output']);
  for (const more of [
    '{{ variables.x }}.',
    '{{ variables.x | strip }}',
    '{{ variables[message] }}',
    '{{ (1..variables.x) }}',
    '{{ "x" }}',
    'x',
  ])
    t.is(compileTemplate(more).repeats, undefined, more);
});

for (const source of [
  '{% capture x %}{% endcapture %}',
  '{% include "a" %}',
  '{% render "a" %}',
  '{% layout "a" %}',
  '{% increment x %}',
  '{{ message | push: 1 }}',
  '{{ message | group_by: "x" }}',
  '{{ message | where_exp: "a", "a" }}',
  '{{ message | sample }}',
  '{{ message | hmac_sha256: "k" }}',
]) {
  test(`${source} is refused`, (t) => {
    t.throws(() => compileTemplate(source), { instanceOf: TemplateError });
  });
}

const doubled = `{% assign a = "aaaaaaaa" %}${'{% assign a = a | append: a %}'.repeat(30)}{{ a }}`;
const hostile = {
  'a text that doubles': doubled,
  'a list that doubles': `{% assign a = "a,a" | split: "," %}${'{% assign a = a | concat: a %}'.repeat(30)}{{ a }}`,
  'a replacement of each character': `{% assign a = "${'a'.repeat(5_000)}" %}{{ a | replace: "a", a | replace: "a", a }}`,
  'a separator between all': `{% assign a = "${'a,'.repeat(5_000)}" %}{% assign l = a | split: "," %}{{ l | join: a }}`,
  'a long output': `{% for i in (1..100000) %}${'x'.repeat(10_000)}{% endfor %}`,
  'an endless loop': '{% for a in (1..100000) %}{% for b in (1..100000) %}{% endfor %}{% endfor %}',
  'a wide date': '{{ "2026-01-01" | date: "%99999999Y" }}',
  'a range without an end': '{{ (1..99999999) | join }}',
  'unclosed tags of HTML': `{% assign a = "${'<script'.repeat(2_000)}" %}${'{{ a | strip_html }}'.repeat(50)}`,
};

for (const [what, source] of Object.entries(hostile)) {
  test.serial(`hostile: ${what} ends, without much memory`, (t) => {
    compileTemplate(source);
    const before = process.memoryUsage.rss();
    let outcome: unknown;
    try {
      outcome = withinProcessorTime(50, () => ({ text: compileTemplate(source).text(scope(data)) }));
    } catch (error) {
      outcome = undefined;
      t.true(error instanceof Error && error.message.length <= 201);
    }
    if (outcome !== undefined) t.true(JSON.stringify(outcome).length < 200_000);
    const grown = (process.memoryUsage.rss() - before) / 1e6;
    t.true(grown < 100, `${grown} MB`);
  });
}

test('a value that is too large is refused', (t) => {
  const large = scope({ text: 'x'.repeat(300_000) });
  t.throws(() => compileTemplate('{{ variables.text }}').value(large), { message: /at most 262144 bytes/ });
  t.throws(() => compileTemplate('{{ variables.text }}').text(large), { message: /too long/ });
});

test('characters of code are counted between the signs, whatever is quoted there, and texts are none', (t) => {
  for (const [source, characters] of [
    ['no code, though { it } has braces', 0],
    ['Hello {{ name }}, {% if a %}yes{% endif %}', 6 + 6 + 7],
    ['{{ "}}" | append: x }}', 17 + 1],
    ["{{ '%}' }}{% x %}", 6 + 3],
    ['{{ open | append', 14],
    ['{{ "open }} and a text', 20],
  ] as const) {
    t.is(countCode(source), characters, source);
  }
});
