import test from 'ava';
import { clipped, keywordsOf, sentencesOf, wordsOf } from './offline-text.ts';

test('sentences end at their end, and not at an abbreviation, a number or a name', (t) => {
  t.deepEqual(sentencesOf('Ask Dr. Smith, e.g. about 3.5 mg. Node.js is fine! Is it?'), [
    'Ask Dr. Smith, e.g. about 3.5 mg.',
    'Node.js is fine!',
    'Is it?',
  ]);
});

test('a line is a sentence of its own, without its list mark', (t) => {
  t.deepEqual(sentencesOf('# Facts\n- The first\n2) The second\n\n---\n'), ['Facts', 'The first', 'The second']);
});

test('sentences of scripts with other full stops are told apart', (t) => {
  t.deepEqual(sentencesOf('分母在下面。分子在上面。'), ['分母在下面。', '分子在上面。']);
});

test('forms of a word are compared as one', (t) => {
  const terms = (text: string) => wordsOf(text).map(({ term }) => term);

  t.deepEqual(terms('Fractions FRACTION'), terms('fraction fractions'));
  t.deepEqual(terms('evaluation evaluations'), terms('evaluated evaluate'));
  t.deepEqual(terms('queues queue'), terms('queue queues'));
  t.deepEqual(terms('policies'), terms('policy'));
  t.deepEqual(terms('Node.js C++ CI/CD'), ['node.js', 'c++', 'ci/cd']);
});

test('words that say nothing are no keywords', (t) => {
  t.deepEqual(
    keywordsOf("What's the salary of it, then?").map(({ shown }) => shown),
    ['salary'],
  );
});

test('a script without spaces is compared by pairs of characters', (t) => {
  t.deepEqual(
    wordsOf('分数怎').map(({ term }) => term),
    ['分数', '数怎'],
  );
});

test('a long text is clipped at a word', (t) => {
  t.is(clipped('one two three', 9), 'one two…');
  t.is(clipped('one two', 9), 'one two');
});
