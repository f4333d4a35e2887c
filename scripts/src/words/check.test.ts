import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { checkWords } from './check.ts';

/** Returns the lines that the check reports for one file. */
function problems(t: ExecutionContext, file: string, text: string): string[] {
  const root = mkdtempSync(join(tmpdir(), 'parley-words-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
  return checkWords(root, [file]).map((line) => line.replace(/;.*/u, ''));
}

const ts = 'services/agent/src/limits.ts';

const beginnings: [file: string, text: string, lines: number[]][] = [
  ['a.ts', '/** Of the account. */\nconst a = 1; // That of b\n/**\n * Whose it is.\n */\n', [1, 2, 4]],
  ['a.proto', '/* Of the account. */\nstring a = 1; // That of b\n// Whose\n// it is.\n', [1, 2, 3]],
  ['a.graphql', '"Of the account."\n"""\nThat of b\n"""\n# Whose it is.\n', [1, 2, 5]],
  ['Dockerfile', 'FROM a\n# Of the account.\nRUN b\n# That of b\n\n# Whose it is.\n', [2, 4, 6]],
  ['a.sh', '#!/bin/sh\n# Of the account.\n\n# That of b\necho\n  # Whose it is.\n', [2, 4, 6]],
];
for (const [file, text, lines] of beginnings) {
  test(`a comment that begins with "Of", "That" or "Whose" is reported with its line: ${file}`, (t) => {
    const words = ['Of', 'That', 'Whose'];
    t.deepEqual(
      problems(t, file, text),
      words.map((word, n) => `${file}:${lines[n]} a comment begins with "${word}"`),
    );
  });
}

test('a later line of a comment, and text in a string, template or pattern, may begin with those words', (t) => {
  const text =
    "// A sum\n// Of two.\nconst a = 'http://a // Of b';\nconst b = `${a /* a */} // That c`;\nconst c = /\\/\\/ Of/u;\n/** Offset. */\n";
  t.deepEqual(problems(t, ts, text), []);
});

test('a comment after text of more than one byte for each character has its own line', (t) => {
  t.deepEqual(problems(t, ts, "const a = '✓✓✓ – ü';\n\n// Of a\n"), [`${ts}:3 a comment begins with "Of"`]);
});

test('a variable, parameter or property that is called most or least is reported', (t) => {
  const text = [
    'const most = 1;',
    'function pick(least: number, { mostBytes = 2 }) {}',
    'interface Limits { mostCalls: number }',
    'const limits = { least: 1, mostly: 2, [almost]: 3 };',
    'const leastBusy = limits.most;',
  ].join('\n');
  t.deepEqual(
    problems(t, ts, text).map((line) => line.replace(`${ts}:`, '')),
    ['most', 'least', 'mostBytes', 'mostCalls', 'least'].map((name, n) => `${[1, 2, 2, 3, 4][n]} '${name}' is a bound`),
  );
});

test('an AbortSignal that is not called signal is reported, by its type or by the call that makes it', (t) => {
  const text = [
    'function a(signal: AbortSignal, stopSignal: AbortSignal | undefined, closed: AbortSignal) {}',
    'interface Options { stop?: AbortSignal | undefined; signals: AbortSignal[] }',
    'const late = AbortSignal.timeout(1);',
    'const isAborted = ({ reason }: AbortSignal) => reason;',
  ].join('\n');
  t.deepEqual(problems(t, ts, text), [
    `${ts}:1 'closed' is an AbortSignal`,
    `${ts}:2 'stop' is an AbortSignal`,
    `${ts}:3 'late' is an AbortSignal`,
  ]);
});

test('an AbortSignal is recognised by a cast, a controller, a property signal and its use as one', (t) => {
  const text = [
    'const never = new AbortController().signal;',
    'const late = reason as AbortSignal;',
    'function stop({ signal: given, ...rest }: Options) {}',
    'call({ signal: gone });',
    'call({ signal: stopSignal, code: 1 });',
    'class Reader { #end = AbortSignal.timeout(1); constructor(readonly closed: AbortSignal) {} }',
  ].join('\n');
  t.deepEqual(
    problems(t, ts, text).map((line) => line.replace(`${ts}:`, '')),
    ['never', 'late', 'given', 'gone', 'end', 'closed'].map(
      (name, n) => `${[1, 2, 3, 4, 6, 6][n]} '${name}' is an AbortSignal`,
    ),
  );
});

test('an AbortController that is called gone is reported', (t) => {
  const text =
    'const gone = new AbortController();\nconst leaving = new AbortController();\nconst { gone } = states;\n';
  t.deepEqual(problems(t, 'services/agent/test/a.test.ts', text), [
    "services/agent/test/a.test.ts:1 'gone' is an AbortController",
  ]);
});

test('names of methods, private fields, types, classes and members of an enum are read', (t) => {
  const text = [
    'class Most { leastOf() {} get mostBytes() { return 1; } #least = 1; #mostly() {} #mostOf() {} }',
    'type least = 1; class leastOf {}',
    'interface MostCalls { get least(): number }',
    'enum Most { least }',
    'const most = function least() {};',
  ].join('\n');
  t.deepEqual(
    problems(t, ts, text).map((line) => line.replace(/^.*:(\d+) '(.*)'.*$/u, '$1 $2')),
    [
      '1 leastOf',
      '1 mostBytes',
      '1 least',
      '1 mostOf',
      '2 least',
      '2 leastOf',
      '3 least',
      '4 least',
      '5 most',
      '5 least',
    ],
  );
});

test('left is reported in code that is no test, unless the file also names another side', (t) => {
  const text = 'let left = 1;\nconst rest = { left: 2 };\n';
  const found = (file: string, more = '') => problems(t, file, text + more).map((line) => line.replace(/^.*?:/u, ''));
  t.deepEqual(found(ts), ["1 'left' has three meanings", "2 'left' has three meanings"]);
  t.deepEqual(found('services/agent/src/a.test.ts'), []);
  t.deepEqual(found('services/agent/test/support.ts'), []);
  t.deepEqual(found(ts, 'const right = 3;'), []);
  t.deepEqual(found(ts, 'const box = { bottom: 3 };'), []);
});

test('@returns that begins with "Of", "That" or "Whose" is reported with its line', (t) => {
  const text =
    '/**\n * Adds.\n * @returns Of the sum\n */\n/** Subtracts. @returns Whose it is */\n/** @returns the sum. That is all. */\n';
  t.deepEqual(problems(t, ts, text), [`${ts}:3 @returns begins with "Of"`, `${ts}:5 @returns begins with "Whose"`]);
});

test("the word turn in names is reported, unless it means a conversation's turn", (t) => {
  const text = 'const turn = { turnIndex: 1, nextTurn: 2, turnover: 3 };\n';
  const found = (file: string) => problems(t, file, text).map((line) => line.replace(/^.*:1 /u, ''));
  for (const folder of ['services/chassis/rpc', 'services/identity', 'deploy/mesh', 'scripts']) {
    t.deepEqual(found(`${folder}/src/a.ts`), [
      "'turn' is no turn of a conversation",
      "'nextTurn' is no turn of a conversation",
    ]);
  }
  for (const folder of ['services/agent', 'services/session/embed', 'deploy/stories'])
    t.deepEqual(found(`${folder}/src/a.ts`), []);
});

test('a name of an order or a lock with the word turn is reported in all files', (t) => {
  const text = 'const inTurn = 1;\nfunction lockTurn() {}\nconst isTurn = takesTurn;\n';
  t.deepEqual(problems(t, ts, text), [
    `${ts}:1 'inTurn' is no turn of a conversation`,
    `${ts}:2 'lockTurn' is no turn of a conversation`,
  ]);
});
