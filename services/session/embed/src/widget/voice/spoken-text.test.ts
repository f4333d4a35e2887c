import test from 'ava';
import { spokenPieces } from './spoken-text.ts';

test('the words of a reply are read aloud, without the signs of Markdown', (t) => {
  const reply = [
    '# Returns',
    '**Lamps** can be *returned* within `30` days:',
    '- [in a shop](https://shop.example.com/a)',
    '- by https://post.example.com/form?id=1.',
    '1. First',
    '> said',
    '---',
    '',
    '```js',
    'never(this);',
    '```',
    'The end\u202E\u0000.',
  ].join('\n');
  t.deepEqual(spokenPieces(reply), [
    'Returns\nLamps can be returned within 30 days:\nin a shop\nby post.example.com.\nFirst\nsaid\nThe end.',
  ]);
});

test('a reply without words is not read aloud', (t) => {
  for (const reply of ['', ' \n', '```\ncode\n```', '👍', '---', '…']) t.deepEqual(spokenPieces(reply), [], reply);
});

test('a long reply is read aloud in pieces that end between words, and within one only where there is no space', (t) => {
  t.deepEqual(spokenPieces('one two three four', 9), ['one two', 'three', 'four']);
  t.deepEqual(spokenPieces('abcdefghij', 4), ['abcd', 'efgh', 'ij']);
  t.deepEqual(spokenPieces('a😀b😀', 2), ['a😀', 'b😀'], 'of code points');
  const long = 'word '.repeat(5_000);
  const pieces = spokenPieces(long);
  t.true(pieces.every((piece) => Array.from(piece).length <= 5_000));
  t.is(pieces.join(' '), long.trim());
  t.deepEqual(spokenPieces('a\ud800b'), ['a\ufffdb'], 'a lone surrogate is refused by the service');
});
