import test from 'ava';
import { singleLineProblem, toSingleLine } from './single-line.ts';

const broken = [
  'a\nb',
  'a\r\nb',
  'a\tb',
  'a\u0085b',
  'a\u2028b',
  'a\u2029\u202eb',
  'a\u001b b',
  'a\u2066\u007fb',
  '\na\u0000 b\n',
];
const whole = ['returns.md', 'Prüfung – Teil 2 (neu).pdf', '退货.md', 'a b', '👩‍🔧.md', 'می‌خواهم.pdf'];

test('a name of one line has no break, control character or mark of direction', (t) => {
  for (const name of broken)
    t.is(singleLineProblem(name), 'must not hold line breaks or control characters', JSON.stringify(name));
  for (const name of whole) t.is(singleLineProblem(name), undefined, name);
});

test('in one line each break is a space', (t) => {
  for (const name of broken) t.is(toSingleLine(name), 'a b', JSON.stringify(name));
  for (const name of whole) t.is(toSingleLine(name), name);
});
