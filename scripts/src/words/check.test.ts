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
  ['a.ts', '/** Of the account. */\nconst a = 1; // That of b\n/**\n * Whose it is.\n */\n', [1, 2, 3]],
  ['a.proto', '/* Of the account. */\nstring a = 1; // That of b\n// Whose\n// it is.\n', [1, 2, 3]],
  ['a.graphql', '"Of the account."\n"""\nThat of b\n"""\n# Whose it is.\n', [1, 2, 5]],
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

test("the word turn in names of the chassis or gateway is reported, unless it means a conversation's turn", (t) => {
  const text = 'const turn = { turnIndex: 1, nextTurn: 2, turnover: 3 };\n';
  const found = (file: string) => problems(t, file, text).map((line) => line.replace(/^.*:1 /u, ''));
  t.deepEqual(found('services/chassis/rpc/src/a.ts'), [
    "'turn' is no turn of a conversation",
    "'nextTurn' is no turn of a conversation",
  ]);
  t.deepEqual(found('services/agent/src/a.ts'), []);
});
