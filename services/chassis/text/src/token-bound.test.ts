import test from 'ava';
import { strictTokenBound, usualTokenBound } from './token-bound.ts';

test('the strict bound is the number of bytes of a text', (t) => {
  t.deepEqual(['', 'abc', 'ü', '数', '🦜'].map(strictTokenBound), [0, 3, 2, 3, 4]);
});

test('the usual bound counts words by their letters, and everything else by its bytes', (t) => {
  for (const [text, tokens] of [
    ['', 0],
    ['a', 1],
    ['abc', 1],
    ['abcd', 2],
    ['databases', 3],
    ['An index is a structure', 8],
    ['camelCase', 4],
    ['SQL', 2],
    ['PostgreSQL', 5],
    ['I HAVE IT', 4],
    ['2026', 4],
    ['{"a": 1}', 8],
    ['\n\n  x', 4],
    ['über', 3],
    ['数据', 6],
    ['🦜', 4],
    ['x'.repeat(25), 25],
  ] as const) {
    t.is(usualTokenBound(text), tokens, text);
  }
});

test('the usual bound is never above the strict one, and above a token in four characters', (t) => {
  for (const text of [
    'The quick brown fox jumps over the lazy dog, and nobody minds.',
    '这是一个关于数据库的问题。',
    'Donaudampfschifffahrtsgesellschaft',
    '{"role":"USER","text":"a\\nb","turnIndex":12}',
    'ünïcödé 🦜🦜 and more',
    '\ud800',
  ]) {
    t.true(usualTokenBound(text) <= strictTokenBound(text), text);
    t.true(usualTokenBound(text) > [...text].length / 4, text);
  }
});

// The largest number of tokens that the tokenizers of GPT-4o, GPT-4 and Llama 2 produce for each text, plus two for the start of
// the text.
for (const [text, maxTokens] of [
  ['The quick brown fox jumps over the lazy dog, and nobody minds.', 17],
  ['I HAVE KEPT POSTGRESQL RUNNING FOR SEVEN YEARS.', 23],
  ['Die Donaudampfschifffahrtsgesellschaft wurde größer.', 17],
  ['Lentokonesuihkuturbiinimoottoriapumekaanikko puhui.', 24],
  ['Belki görüşürüz, bilmiyorum.', 16],
  ['Я много лет занимаюсь базами данных.', 15],
  ['我在数据库方面有很多年的经验。', 21],
  ['私はデータベースの複製を長年担当してきました。', 33],
  ['لدي سنوات عديدة من الخبرة.', 26],
  ['मेरे पास कई वर्षों का अनुभव है।', 35],
  [String.raw`{"turnIndex":12,"role":"USER","text":"a\nb \"c\" 2026-01-02"}`, 32],
  ['🦜👩‍👩‍👧‍👦 great!', 27],
  ['4815162342', 12],
  ['   \t\n\n  x', 7],
] as const) {
  test(`no tokenizer makes more tokens than the usual bound: ${text.trim()}`, (t) => {
    t.true(usualTokenBound(text) + 2 >= maxTokens, `${usualTokenBound(text)}`);
  });
}
