import test from 'ava';
import { lineOf, linesOf, printable } from './printable-text.ts';

test('each line has the direction of its first letter, else that of the line before', (t) => {
  t.deepEqual(linesOf('Hello\n1. \nمرحبا hello\n- 2\nhello مرحبا'), [
    { text: 'Hello' },
    { text: '1. ' },
    { text: 'مرحبا hello', rtl: true },
    { text: '- 2', rtl: true },
    { text: 'hello مرحبا' },
  ]);
  t.deepEqual(linesOf('"שלום"'), [{ text: '"שלום"', rtl: true }]);
});

test('Chinese lines are marked', (t) => {
  t.deepEqual(linesOf('你好\nhello'), [{ text: '你好', han: true }, { text: 'hello' }]);
});

test('characters without a shape become U+FFFD, and line ends become line feeds', (t) => {
  t.is(
    printable('a\0\u001B\u0085\nb\r\nc\rd\u2028e\tf\uD800\u202E'),
    'a\uFFFD\uFFFD\uFFFD\nb\nc\nd\ne    f\uFFFD\uFFFD',
  );
  t.is(
    printable('\u200Fמ\u2067x\u2069 👩‍🚀 é'),
    '\u200Fמ\u2067x\u2069 👩‍🚀 é',
    'marks and isolates of direction have a use',
  );
});

test('a long word gets break opportunities and keeps its characters', (t) => {
  const word = 'x'.repeat(200);
  t.is(printable(word).replaceAll('\u200B', ''), word);
  t.true(
    printable(word)
      .split('\u200B')
      .every(({ length }) => length <= 48),
  );
  t.is(printable('x'.repeat(48)), 'x'.repeat(48));
  t.is(printable('好'.repeat(200)), '好'.repeat(200));
});

test('a text as one line is cut between characters', (t) => {
  t.deepEqual(lineOf(' a\n\n b\tc '), { text: 'a b c' });
  t.deepEqual(lineOf('👩👩👩👩', 3), { text: '👩👩…' });
  t.deepEqual(lineOf('👩👩👩', 3), { text: '👩👩👩' });
  t.deepEqual(lineOf('   '), { text: '' });
});
