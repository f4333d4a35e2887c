import test from 'ava';
import { naughtyTexts } from './testing/naughty-texts.ts';
import { wordChunks } from './word-chunks.ts';

test('a text is spoken word by word, the blanks before their word', (t) => {
  t.deepEqual(wordChunks('Hello, my  friend.\nBye '), ['Hello,', ' my', '  friend.', '\nBye ']);
  t.deepEqual(wordChunks('   '), ['   ']);
  t.deepEqual(wordChunks(''), []);
});

test('a script without spaces is spoken in parts too', (t) => {
  t.true(wordChunks('分数的分母在线下面'.repeat(6)).length > 5);
});

test('the chunks of any text join to the text, none of them empty', (t) => {
  for (const text of naughtyTexts) {
    t.is(wordChunks(text).join(''), text);
    t.false(wordChunks(text).includes(''));
  }
});

test('a chunk never ends inside a character of several code points', (t) => {
  const family = '👩‍👩‍👧';
  const chunks = wordChunks(family.repeat(40) + '分');

  t.true(chunks.length > 1);
  for (const chunk of chunks.slice(0, -1)) t.is(chunk.replaceAll(family, ''), '');
});
