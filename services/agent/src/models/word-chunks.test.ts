import test from 'ava';
import { naughtyTexts } from './testing/naughty-texts.ts';
import { wordChunks } from './word-chunks.ts';

test('a text is split into words with their leading spaces', (t) => {
  t.deepEqual(wordChunks('Hello, my  friend.\nBye '), ['Hello,', ' my', '  friend.', '\nBye ']);
  t.deepEqual(wordChunks('   '), ['   ']);
  t.deepEqual(wordChunks(''), []);
});

test('a text without spaces is split too', (t) => {
  t.true(wordChunks('分数的分母在线下面'.repeat(6)).length > 5);
});

test('the chunks of any text are non-empty and join to the text', (t) => {
  for (const text of naughtyTexts) {
    t.is(wordChunks(text).join(''), text);
    t.false(wordChunks(text).includes(''));
  }
});

test('graphemes are not split', (t) => {
  const family = '👩‍👩‍👧';
  const chunks = wordChunks(family.repeat(40) + '分');

  t.true(chunks.length > 1);
  for (const chunk of chunks.slice(0, -1)) t.is(chunk.replaceAll(family, ''), '');
});
