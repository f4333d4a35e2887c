import { readFileSync } from 'node:fs';
import test from 'ava';
import type { Json, WorkflowNode } from './definition.ts';
import { references } from './references.ts';
import { say, workflow } from './testing/workflows.ts';
import { validate } from './validate.ts';

const llm: WorkflowNode = { kind: 'llm', prompt: 'Hello', output: 'x', next: 'end' };

const forms: [string, unknown, string, string][] = [
  ['is no object', 5, '', 'must be an object'],
  ['is of another version', { ...workflow({ a: say('a') }), version: 2 }, 'version', 'must be 1'],
  ['has no start', { version: 1, nodes: { a: say('a') } }, 'start', 'must be given'],
  ['has an unknown field', { ...workflow({ a: say('a') }), name: 'x' }, 'name', 'must not be given'],
  [
    'has an id with a space',
    workflow({ a: say('a'), 'a b': say('a') }),
    'nodes.a b',
    'must be 1 to 64 letters, digits, _ and -, of which the first is a letter or _',
  ],
  [
    'has a long id',
    workflow({ a: say('a'), [`a${'b'.repeat(64)}`]: say('a') }),
    `nodes.a${'b'.repeat(64)}`,
    'must be 1 to 64 letters, digits, _ and -, of which the first is a letter or _',
  ],
  [
    'has the id __proto__',
    JSON.parse(
      '{"version":1,"start":"a","nodes":{"a":{"kind":"response","text":"a"},"__proto__":{"kind":"response","text":"a"}}}',
    ),
    'nodes.__proto__',
    'is a name that is not allowed',
  ],
  [
    'has an unknown kind',
    { version: 1, start: 'a', nodes: { a: { kind: 'script' } } },
    'nodes.a.kind',
    'must be one of llm, router, condition, tool, action, response',
  ],
  ['has a node that is no object', { version: 1, start: 'a', nodes: { a: [] } }, 'nodes.a', 'must be an object'],
  [
    'has a blank prompt',
    workflow({ a: { ...llm, prompt: ' \n' }, end: say('a') }),
    'nodes.a.prompt',
    'must not be blank',
  ],
  [
    'has a long prompt',
    workflow({ a: { ...llm, prompt: 'x'.repeat(20_001) }, end: say('a') }),
    'nodes.a.prompt',
    'must have at most 20000 characters',
  ],
  [
    'has a field of another kind',
    { version: 1, start: 'a', nodes: { a: { ...say('a'), onError: 'a' } } },
    'nodes.a.onError',
    'must not be given',
  ],
  ['lacks a field', { version: 1, start: 'a', nodes: { a: { kind: 'response' } } }, 'nodes.a.text', 'must be given'],
  [
    'has a long time limit',
    workflow({ a: { ...llm, timeoutMs: 60_001 }, end: say('a') }),
    'nodes.a.timeoutMs',
    'must be at most 60000',
  ],
  [
    'has a half of a tool',
    { version: 1, start: 'a', nodes: { a: { ...llm, tools: [{ tool: 'x' }] }, end: say('a') } },
    'nodes.a.tools.0',
    'must have connectorId and tool, or actionId',
  ],
  [
    'has a card without a title',
    workflow({ a: say('a', { structuredContent: { kind: 'card' } }) }),
    'nodes.a.structuredContent.title',
    'must be given',
  ],
  [
    'has content of an unknown kind',
    workflow({ a: say('a', { structuredContent: { kind: 'html' } }) }),
    'nodes.a.structuredContent.kind',
    'must be one of card, table, list',
  ],
  ['has no node', { version: 1, start: 'a', nodes: {} }, 'nodes', 'must have at least 1'],
];

for (const [what, definition, path, message] of forms) {
  test(`a definition that ${what} is refused`, (t) => {
    t.deepEqual(validate(definition), [{ path, message }]);
  });
}

const condition = (when: string): WorkflowNode => ({
  kind: 'condition',
  cases: [{ when, next: 'end' }],
  otherwise: 'end',
});
const withText = (text: string) => workflow({ a: say(text) });
const withCase = (when: string) => workflow({ a: condition(when), end: say('a') });
const router = (labels: string[]): WorkflowNode => ({
  kind: 'router',
  instruction: 'Choose',
  routes: labels.map((label) => ({ label, description: '', next: 'end' })),
  fallback: 'end',
});

const rules: [string, unknown, string, string][] = [
  ['begins nowhere', { ...withText('a'), start: 'b' }, 'start', 'names the node b, which is not there'],
  [
    'names an object property as a node',
    { ...workflow({ a: say('a', { next: 'constructor' }) }) },
    'nodes.a.next',
    'names the node constructor, which is not there',
  ],
  [
    'dangles at onError',
    workflow({ a: { ...llm, onError: 'x' }, end: say('a') }),
    'nodes.a.onError',
    'names the node x, which is not there',
  ],
  [
    'has a node that nothing leads to',
    workflow({ a: say('a'), b: say('b') }),
    'nodes.b',
    'cannot be reached from start',
  ],
  [
    'loops without a response',
    workflow({
      a: { ...llm, next: 'b' },
      b: { kind: 'condition', cases: [{ when: 'true', next: 'end' }], otherwise: 'a' },
      end: say('a'),
    }),
    'nodes.b.otherwise',
    'closes a loop without a response: a → b → a',
  ],
  [
    'retries by onError',
    workflow({ a: { ...llm, onError: 'a' }, end: say('a') }),
    'nodes.a.onError',
    'closes a loop without a response: a → a',
  ],
  [
    'has a label twice',
    workflow({ a: router(['x', 'x']), end: say('a') }),
    'nodes.a.routes.1.label',
    'is the label of another route too',
  ],
  [
    'reads what is not there',
    withText('{{ process.env }}'),
    'nodes.a.text',
    'reads "process", which is none of message, variables, session, identity, nodes',
  ],
  [
    'reads a variable that nothing sets',
    withText('{{ variables.x }}'),
    'nodes.a.text',
    'reads the variable "x", which is neither in variables nor an output',
  ],
  [
    'reads a node that is not there',
    withText('{{ nodes.x.output }}'),
    'nodes.a.text',
    'reads the node "x", which is not there',
  ],
  [
    'reads a secret of the session',
    withText('{{ session.token }}'),
    'nodes.a.text',
    'reads "token" of the session, which has id, clientExternalId, metadata, startedAt only',
  ],
  [
    'has a tag that is not closed',
    withText('{{ message'),
    'nodes.a.text',
    'has a tag or output that is not closed: line 1, column 1',
  ],
  [
    'reads a file',
    withText('{% include "/etc/passwd" %}'),
    'nodes.a.text',
    'uses a tag that is unknown, or not allowed here: line 1, column 1',
  ],
  [
    'has an unknown filter',
    withText('{{ message | exec }}'),
    'nodes.a.text',
    'uses an unknown filter: line 1, column 1',
  ],
  [
    'has a template in args that fails',
    workflow({
      a: { kind: 'tool', connectorId: 1, tool: 't', args: { a: [{ b: '{{' }] }, output: 'x', next: 'end' },
      end: say('a'),
    }),
    'nodes.a.args.a.0.b',
    'has a tag or output that is not closed: line 1, column 1',
  ],
  [
    'has an expression that does not parse',
    withCase('1 +'),
    'nodes.a.cases.0.when',
    'is not a CEL expression: line 1, column 3',
  ],
  [
    'calls a function that is not there',
    withCase('fetch("http://x") == 1'),
    'nodes.a.cases.0.when',
    'calls fetch, which is not there',
  ],
  [
    'has an expression with an unknown name',
    withCase('globalThis == 1'),
    'nodes.a.cases.0.when',
    'reads "globalThis", which is none of message, variables, session, identity, nodes',
  ],
  [
    'has an expression with a pattern that backtracks',
    withCase('message.matches("(a)\\\\1")'),
    'nodes.a.cases.0.when',
    'has a pattern that is not valid, or has more than linear cost',
  ],
  [
    'makes a message',
    withCase('google.protobuf.Duration{} == message'),
    'nodes.a.cases.0.when',
    'makes a message, which is not supported',
  ],
];

for (const [what, definition, path, message] of rules) {
  test(`a definition that ${what} is refused`, (t) => {
    t.deepEqual(validate(definition), [{ path, message }]);
  });
}

test('all problems are named, at most 100', (t) => {
  const nodes = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`n${index}`, { kind: 'x' }]));
  t.is(validate({ version: 1, start: 'n0', nodes }).length, 100);
  t.is(validate({ version: 1, start: '', nodes: { a: { kind: 'response' }, b: {} } }).length, 3);
});

test('local names of expressions and templates are known', (t) => {
  const when = 'session.metadata.list.filter(x, x.a > 1.0).map(y, y.b).exists(z, z == "q") && has(identity.name)';
  t.deepEqual(validate(withCase(when)), []);
  t.deepEqual(
    validate(withText('{% assign a = message | split: "," %}{% for b in a %}{{ b }}{{ forloop.index }}{% endfor %}')),
    [],
  );
});

test('ids with a hyphen can be read', (t) => {
  const definition = workflow({
    'a-b': { ...llm, next: 'c' },
    c: { kind: 'condition', cases: [{ when: 'nodes["a-b"].output == "x"', next: 'end' }], otherwise: 'end' },
    end: say('{{ nodes.a-b.output }}'),
  });
  t.deepEqual(validate(definition), []);
});

test('references to other resources are collected with their paths', (t) => {
  const definition = workflow({
    a: { ...llm, knowledgeBaseId: 4, tools: [{ connectorId: 5, tool: 's' }, { actionId: 6 }], next: 'b' },
    b: { kind: 'tool', connectorId: 7, tool: 't', args: {}, output: 'y', next: 'c' },
    c: { kind: 'action', actionId: 8, args: {}, output: 'z', next: 'end' },
    end: say('a'),
  });
  t.deepEqual(references(definition), {
    knowledgeBaseIds: [{ id: 4, path: 'nodes.a.knowledgeBaseId' }],
    connectorTools: [
      { connectorId: 5, tool: 's', path: 'nodes.a.tools.0' },
      { connectorId: 7, tool: 't', path: 'nodes.b' },
    ],
    actionIds: [
      { id: 6, path: 'nodes.a.tools.1' },
      { id: 8, path: 'nodes.c' },
    ],
  });
});

test('the support bot of the examples is valid and has 12 nodes', (t) => {
  const bot: unknown = JSON.parse(readFileSync(new URL('../../examples/support-bot.json', import.meta.url), 'utf8'));
  t.deepEqual(validate(bot), []);
  t.is(Object.keys((bot as { nodes: object }).nodes).length, 12);
});

test('reported problems have a bounded size, however large the names in them are', (t) => {
  const loops = many(200, (index) => ({ ...llm, next: `n${(index + 1) % 200}`, onError: 'n0' }));
  const issues = validate(loops);
  t.is(issues.length, 100);
  t.is(issues[0]?.message, 'closes a loop without a response: n0 → n1 → n2 → … 195 more … → n198 → n199 → n0');
  t.true(JSON.stringify(issues).length < 20_000);

  const key = 'k'.repeat(20_000);
  const args = { [key]: `{{ ${key} }}` };
  const named = validate(
    workflow({ a: { kind: 'tool', connectorId: 1, tool: 't', args, output: 'x', next: 'end' }, end: say('a') }),
  );
  t.true(named.length > 0);
  for (const { path, message } of named) t.true(path.length <= 500 && message.length <= 500);
});

function nested(depth: number): Json {
  let value: Json = 'x';
  for (let level = 0; level < depth; level += 1) value = level % 2 ? [value] : { a: value };
  return value;
}

const many = (count: number, node: (index: number) => WorkflowNode) =>
  workflow(Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, node(index)])));

/** Definitions that must not take long to validate. A third element `true` marks a valid definition: only its evaluation is limited. */
const hostile: [string, () => unknown, true?][] = [
  ['10,000 nodes', () => many(10_000, (index) => say('a', { next: `n${index + 1}` }))],
  [
    '200 nodes with 20 cases each',
    () =>
      many(200, () => ({
        kind: 'condition',
        cases: Array.from({ length: 20 }, () => ({ when: 'message == "a"', next: 'n0' })),
        otherwise: 'n1',
      })),
  ],
  [
    'deep nesting',
    () =>
      workflow({ a: { kind: 'tool', connectorId: 1, tool: 't', args: { a: nested(50_000) }, output: 'x', next: 'a' } }),
  ],
  [
    'a wide object',
    () =>
      workflow(
        { a: say('a') },
        Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`v${index}`, index])),
      ),
  ],
  ['a megabyte of text', () => withText('x'.repeat(1_000_000))],
  ['templates of tags only', () => many(200, () => say('{{a}}{%if a%}'.repeat(1_500)))],
  ['a template of 1,000 tags', () => withText('{{ message }}'.repeat(1_001))],
  ['a template of nested tags', () => withText('{% if a %}'.repeat(900))],
  ['a template without an end', () => withText(`{{ "${'a'.repeat(19_000)}`)],
  ['templates of long chains of filters', () => chained((n) => `{{ message${'|append:1'.repeat(2_200)}${n} }}`)],
  ['templates of long conditions', () => chained((n) => `{% if ${'a == b and '.repeat(1_800)} ${n} %}{% endif %}`)],
  ['templates of nested brackets', () => chained((n) => `{{ ${'a['.repeat(3_300)}${n}${']'.repeat(3_300)} }}`)],
  ['templates of long cases', () => chained((n) => `{% case 1 %}{% when ${'z,'.repeat(9_900)}${n} %}{% endcase %}`)],
  ['templates that hide their code behind quotes', () => chained((n) => `{{ "}}" ${'|append:1'.repeat(2_100)}${n} }}`)],
  ['expressions of parentheses', () => many(10, (n) => condition(`${'('.repeat(990)}${n}`))],
  ['an expression of parentheses', () => withCase('('.repeat(1_000))],
  ['an expression of nested lists', () => withCase(`${'['.repeat(499)}${']'.repeat(499)} == 1`)],
  ['an expression of negations', () => withCase(`${'!'.repeat(990)}true`), true],
  ['an expression of nested macros', () => withCase(`${'[1].all(a,'.repeat(80)}true${')'.repeat(80)}`), true],
  ['expressions of 20,000 characters', () => many(20, () => condition(`${'message == "a" || '.repeat(50)}true`))],
  ['an evil pattern', () => withCase('message.matches("((a{1,100}){1,100}){1,100}")')],
  [
    'a chain of 200 nodes that each loop back',
    () => many(200, (index) => ({ ...llm, next: `n${(index + 1) % 200}`, onError: 'n0' })),
  ],
];

const chained = (text: (index: number) => string) =>
  many(12, (index) => say(text(index), index < 11 ? { next: `n${index + 1}` } : {}));

/** Returns the processor time of the fastest of three runs in ms, because other processes interfere. */
function cost(work: () => unknown): number {
  const costs = [1, 2, 3].map(() => {
    const { user, system } = process.threadCpuUsage();
    work();
    const after = process.threadCpuUsage();
    return (after.user - user + after.system - system) / 1_000;
  });
  return Math.min(...costs);
}

for (const [what, make, isValid = false] of hostile) {
  test.serial(`hostile: ${what} is ${isValid ? 'checked' : 'refused'} within 50 ms of processor time`, (t) => {
    const definition = make();
    t.is(validate(definition).length === 0, isValid);
    const took = cost(() => validate(definition));
    t.true(took < 50, `${took} ms`);
  });
}

test.serial(
  'the largest templates and expressions that are allowed are checked within 50 ms of processor time',
  (t) => {
    const nodes: Record<string, WorkflowNode> = {
      start: {
        kind: 'condition',
        cases: Array.from({ length: 9 }, (_, index) => ({
          when: `${'message == "a" || '.repeat(55)}${index} == 1`,
          next: 'a0',
        })),
        otherwise: 'a0',
      },
    };
    for (let index = 0; index < 9; index += 1)
      nodes[`a${index}`] = say('{{ message | upcase }}'.repeat(110), index < 8 ? { next: `a${index + 1}` } : {});
    t.deepEqual(validate(workflow(nodes)), []);
    // Each round has different texts, so that none is compiled yet.
    let round = 0;
    const took = cost(() => {
      round += 1;
      const text = JSON.stringify(workflow(nodes))
        .replaceAll('message | upcase', `message|append:${round}`)
        .replaceAll('\\"a\\"', `\\"${round}\\"`);
      t.deepEqual(validate(JSON.parse(text)), []);
    });
    t.true(took < 50, `${took} ms`);
  },
);
