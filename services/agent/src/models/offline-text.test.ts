import test from 'ava';
import { keywordsOf, sentencesOf, truncated, wordsOf } from './offline-text.ts';

test('abbreviations, numbers and names do not end a sentence', (t) => {
  t.deepEqual(sentencesOf('Ask Dr. Smith, e.g. about 3.5 mg. Node.js is fine! Is it?'), [
    'Ask Dr. Smith, e.g. about 3.5 mg.',
    'Node.js is fine!',
    'Is it?',
  ]);
});

test('each line is a sentence, without its list mark', (t) => {
  t.deepEqual(sentencesOf('# Facts\n- The first\n2) The second\n\n---\n'), ['Facts', 'The first', 'The second']);
});

test('full stops of other scripts end sentences', (t) => {
  t.deepEqual(sentencesOf('分母在下面。分子在上面。'), ['分母在下面。', '分子在上面。']);
});

test('forms of a word have one stem', (t) => {
  const terms = (text: string) => wordsOf(text).map(({ term }) => term);

  t.deepEqual(terms('Fractions FRACTION'), terms('fraction fractions'));
  t.deepEqual(terms('evaluation evaluations'), terms('evaluated evaluate'));
  t.deepEqual(terms('queues queue'), terms('queue queues'));
  t.deepEqual(terms('policies'), terms('policy'));
  t.deepEqual(terms('returned returning returns'), terms('return return return'));
  t.deepEqual(terms('payments paying shipping shipped'), terms('pay pay ship ship'));
  t.deepEqual(terms('cancellation cancelled closed delivery'), terms('cancel cancel close deliver'));
  t.deepEqual(terms('selling dangerous speed spring'), [...terms('sell danger'), 'speed', 'spring']);
  t.deepEqual(terms('Node.js C++ CI/CD'), ['node.js', 'c++', 'ci/cd']);
});

test('stopwords are not keywords', (t) => {
  t.deepEqual(
    keywordsOf("What's the salary of it, then?").map(({ shown }) => shown),
    ['salary'],
  );
});

test('a script without spaces is split into bigrams', (t) => {
  t.deepEqual(
    wordsOf('分数怎').map(({ term }) => term),
    ['分数', '数怎'],
  );
});

test('a long text is truncated at a word boundary', (t) => {
  t.is(truncated('one two three', 9), 'one two…');
  t.is(truncated('one two', 9), 'one two');
});
