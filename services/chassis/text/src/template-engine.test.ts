import test from 'ava';
import { templateEngine, templateProblem } from './template-engine.ts';

const engine = templateEngine();

test('a template is rendered from its scope', (t) => {
  const template = 'Judge {{ agent.name | upcase }}: {% for line in lines %}{{ line.text }};{% endfor %}';
  t.is(templateProblem(engine, template), undefined);
  t.is(
    String(engine.parseAndRenderSync(template, { agent: { name: 'Ada' }, lines: [{ text: 'a' }, { text: 'b' }] })),
    'Judge ADA: a;b;',
  );
});

test('lists and objects have a text form', (t) => {
  const scope = {
    labels: ['A', 'B'],
    agent: { name: 'Ada' },
    lines: [{ text: 'a' }],
    nothing: null,
    yes: true,
    n: 1.5,
  };
  const filled = (template: string) => String(engine.parseAndRenderSync(template, scope));
  t.is(filled('{{ labels }}|{{ agent }}|{{ lines }}'), 'A, B|{"name":"Ada"}|{"text":"a"}');
  t.is(
    filled('{{ nothing }}|{{ absent }}|{{ yes }}|{{ n }}|{{ labels[1] }}|{{ labels | join: "/" }}'),
    '||true|1.5|B|A/B',
  );
  t.is(filled('{{ (1..3) }}{% echo labels %}{{ labels | size }}'), '1, 2, 3A, B2');
});

test('the text of lists counts as memory', (t) => {
  const scope = { lines: Array.from({ length: 1_000 }, () => ({ text: 'x'.repeat(1_000) })) };
  t.notThrows(() => engine.parseAndRenderSync('{{ lines }}', scope));
  t.throws(() => engine.parseAndRenderSync('{{ lines }}'.repeat(6), scope), { message: /limit exceeded/ });
});

for (const tag of ['{% render "package.json" %}', '{% include "package.json" %}', '{% layout "package.json" %}']) {
  test(`a template reads no files: ${tag} is refused`, (t) => {
    t.is(templateProblem(engine, tag), 'uses a tag that is unknown, or not allowed here: line 1, column 1');
    t.throws(() => engine.parseAndRenderSync(tag, {}));
  });
}

test('an error names problem and position without quoting the template', (t) => {
  const unclosed = 'has a tag or output that is not closed';
  t.is(templateProblem(engine, 'fine\n  {{ "my secret" '), `${unclosed}: line 2, column 3`);
  for (const open of ['{% if', '{% if a %}', '{% raw %} '])
    t.true(templateProblem(engine, open)?.startsWith(unclosed), open);
  t.is(templateProblem(engine, '{{ name | nosuchfilter }}'), 'uses an unknown filter: line 1, column 1');
  t.is(templateProblem(engine, '{% for %}{% endfor %}'), 'is not a Liquid template: line 1, column 1');
  t.truthy(templateProblem(engine, '{% if a %}'.repeat(2_000)));
});

test('a template without an end is aborted', (t) => {
  const endless = '{% for a in (1..100000) %}{% for b in (1..100000) %}{{ a }}{% endfor %}{% endfor %}';
  t.is(templateProblem(engine, endless), undefined);
  t.throws(() => engine.parseAndRenderSync(endless, {}), { message: /limit exceeded/ });
});

for (const filter of [
  'find_exp: "a", "a | size"',
  'where_exp: "a", "a"',
  'find: "a"',
  'has: "a"',
  'find_index: "a"',
  'sum',
]) {
  test(`a filter without a limit is refused: ${filter}`, (t) => {
    t.truthy(templateProblem(engine, `{{ (1..9) | ${filter} }}`));
  });
}
