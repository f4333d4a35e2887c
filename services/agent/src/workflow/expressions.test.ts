import { withinProcessorTime } from '@parley/json-schema/within-processor-time';
import test from 'ava';
import type { Json, JsonObject } from './definition.ts';
import { compileExpression, ExpressionError } from './expressions.ts';
import type { Scope } from './scope.ts';

function scope(variables: JsonObject = {}, rest: Partial<Scope> = {}): Scope {
  return { message: 'Refund, please!', variables, session: { id: 7 }, identity: null, nodes: {}, ...rest };
}

const data: JsonObject = {
  n: 3,
  half: 1.5,
  name: 'Ada',
  list: [1, 2, 3],
  nothing: null,
  deep: { a: [{ b: 'x' }] },
  'a-b': 1,
  constructor: { name: 'F1' },
  today: '2026-01-02T00:00:00Z',
};

for (const [text, holds] of [
  ['variables.n == 3 && variables.n > 2 && variables.n != 4', true],
  ['variables.n + 1 == 4.0 && 2 * variables.half == 3.0 && variables.n / 2 == 1.5 && 1 - variables.half < 0.0', true],
  ['int(variables.n) % 2 == 1', true],
  ['variables.deep.a[0].b == "x" && variables["a-b"] == 1', true],
  ['2 in variables.list && "n" in variables && !("m" in variables)', true],
  ['variables.list.all(x, x > 0) && variables.list.filter(x, x > 1).map(x, x * 2).exists(x, x == 6.0)', true],
  ['has(variables.deep.a) && !has(variables.deep.z)', true],
  ['identity == null || identity.name == "Ada"', true],
  ['variables.nothing == null', true],
  ['message.lowerAscii().contains("refund") && message.matches("(?i)^REFUND") && message.size() == 15', true],
  ['timestamp(variables.today) > timestamp("2025-12-31T23:59:59Z")', true],
  ['variables.constructor.name == "F1"', true],
  ['(variables.list + [4]).size() == 4 && "a" + variables.name == "aAda"', true],
  ['1 / 0 == 1 || true', true],
  ['variables.n == "3"', false],
] as const) {
  test(`${text} is ${holds}`, (t) => {
    t.is(compileExpression(text).isTrue(scope(data)), holds);
  });
}

for (const text of [
  'variables.absent == 1',
  'variables.__proto__ == null',
  'variables.deep.constructor == null',
  'variables.deep["__proto__"] == null',
  'message.length == 1',
  'message.constructor == null',
  'variables.list.length == 3',
  'identity.name == "x"',
  '9223372036854775807 + 1 > 0',
  '-(-9223372036854775807 - 1) > 0',
  '1 / 0 == 1',
  'timestamp("99999-01-01T00:00:00Z") == timestamp("2026-01-01T00:00:00Z")',
  `duration("${'1'.repeat(900)}") == duration("1s")`,
  'variables.n',
  '"true"',
  'variables.n > "a"',
  'message.matches(variables.evil)',
  '[[1]].map(x, x + x)' + '.map(x, x + x)'.repeat(20) + '.exists(x, x.size() > 1)',
  '["aaaaaaaa"]' + '.map(x, x + x)'.repeat(30) + '.exists(x, x.size() > 1)',
]) {
  test(`an expression has no result: ${text.slice(0, 60)}`, (t) => {
    const error = t.throws(() => compileExpression(text).isTrue(scope({ ...data, evil: '(a{1,1000}){1,1000}' })));
    t.true((error?.message.length ?? 0) <= 201, error?.message);
  });
}

test('data is never an expression', (t) => {
  const evil = scope({ x: 'true || variables.n == 3' });
  t.false(compileExpression('variables.x == "true"').isTrue(evil));
  t.throws(() => compileExpression('variables.x').isTrue(evil));
});

test('an expression that does not compile says so each time', (t) => {
  for (let round = 0; round < 2; round += 1) t.throws(() => compileExpression('1 +'), { instanceOf: ExpressionError });
});

test.serial('comprehensions over large lists end at the time limit, and later ones are answered', (t) => {
  const list: Json = Array.from({ length: 2_000 }, (_, index) => index);
  const when = 'variables.list.all(a, variables.list.all(b, variables.list.all(c, a + b + c >= 0.0)))';
  const evaluate = (text: string) =>
    withinProcessorTime(50, () => ({ is: compileExpression(text).isTrue(scope({ list })) }));
  t.is(evaluate(when), undefined);
  t.is(evaluate('message.matches("^(a+)+$") || variables.list.size() == 2000')?.is, true);
});
