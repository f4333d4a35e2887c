import { performance } from 'node:perf_hooks';
import test from 'ava';
import { parsePath, pathProblem } from '../src/json-path.ts';

const paths = [
  '$',
  '$.score',
  "$['full name']",
  '$.strengths[0]',
  '$.strengths[*]',
  '$..name',
  '$.metadata.items[?@.price > 10 && search(@.name, "a+")].id',
  "$.metadata[?match(@.kind, 'a|b')]",
  '$.metadata[?count(@.*) == 2]',
  "$['a)(][']",
];

for (const path of paths) {
  test(`${path} is a path`, (t) => t.is(pathProblem(path), undefined));
}

const refused: [what: string, path: string, problem: RegExp][] = [
  ['a name without a root', 'score', /must be a JSONPath of RFC 9535, which it is not from character 1 on/u],
  ['an open bracket', '$.a[', /not from character 5 on/u],
  ['nothing', '', /must be a JSONPath/u],
  ['a script of the old JSONPath', '$.a[(@.length-1)]', /must be a JSONPath/u],
  ['an unknown function', '$[?shell(@)]', /must use the functions length, count, value, match, search only/u],
  ['an unknown function deep inside', '$[?!(@.a == 1 || constructor(@.b))]', /must use the functions/u],
  ['a function with too many arguments', '$[?length(@.a, @.b) > 1]', /must give length\(\) one argument/u],
  ['a function with too few arguments', '$[?search(@.a)]', /must give search\(\) 2 arguments/u],
  ['a path without end', `$${'.a'.repeat(250)}`, /must have at most 500 characters/u],
  ['brackets without end', `$[?${'('.repeat(60)}@${')'.repeat(60)}]`, /at most 12 brackets within each other/u],
  ['queries in functions in queries', `$[?${'value(@[?'.repeat(40)}@${'])'.repeat(40)}==1]`, /at most 12 brackets/u],
];

for (const [what, path, problem] of refused) {
  test(`${what} is refused, and none of it is repeated`, (t) => {
    const found = pathProblem(path);
    t.regex(found ?? '', problem);
    t.false(found?.includes('shell') || found?.includes('constructor'));
  });
}

test('a path with the deepest allowed nesting is read within milliseconds', (t) => {
  const nested = `$[?${'value(@[?'.repeat(5)}@${'])'.repeat(5)}==1]`;
  pathProblem(nested);
  const before = performance.now();
  for (let n = 0; n < 10; n += 1) pathProblem(nested);
  t.true((performance.now() - before) / 10 < 50);
});

test('a path names at most one value if it has only names and indexes', (t) => {
  const singular = ['$', '$.a', "$['a']['b']", '$.a[0][-1]'];
  const plural = ['$.*', '$..a', '$[0, 1]', '$[0:1]', '$[?@.a]', '$.a[*]'];
  t.deepEqual(
    [...singular, ...plural].filter((path) => parsePath(path).isSingular),
    singular,
  );
});
