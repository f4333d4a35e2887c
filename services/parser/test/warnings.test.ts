import test from 'ava';
import { FileProblem } from '../src/file-problem.ts';
import type { Loss } from '../src/losses.ts';
import { warningsOf, withWarnings } from '../src/warnings.ts';

const scanned: Loss = { kind: 'scannedPages', what: '2 of 14 pages have no text: scanned' };
const unknown: Loss = { kind: 'unknownSigns', what: '7 signs are of unknown characters' };

test('each loss is a line at the end of the text, and page starts are unchanged', (t) => {
  const read = { text: 'one\n\n\n\n', pageStarts: [0, 5, 6], losses: [scanned, unknown] };
  t.deepEqual(withWarnings(read, 1_000), {
    ...read,
    text: 'one\n\n\n\n[2 of 14 pages have no text: scanned]\n\n[7 signs are of unknown characters]\n\n',
  });
  for (const text of ['one', 'one\n', 'one\n\n'])
    t.is(withWarnings({ ...read, text }, 1_000).text.split('[2 of')[0], 'one\n\n');
});

test('a text without losses and a file without text are unchanged', (t) => {
  t.deepEqual(withWarnings({ text: 'one', pageStarts: [] }, 3), { text: 'one', pageStarts: [] });
  const empty = { text: ' \n', pageStarts: [], losses: [scanned] };
  t.is(withWarnings(empty, 1_000), empty);
});

test('warnings are bounded in number and length', (t) => {
  const losses = Array.from({ length: 30 }, (): Loss => ({ kind: 'characters', what: '👍'.repeat(400) }));
  const warnings = warningsOf({ losses });
  t.is(warnings.length, 20);
  t.is(warnings[0], '👍'.repeat(300));
});

test('a text that exceeds the limit with its warnings is too long', (t) => {
  const read = { text: 'a'.repeat(90), pageStarts: [], losses: [scanned] };
  t.is(withWarnings(read, 200).text.length, 90 + 2 + scanned.what.length + 4);
  t.is(t.throws(() => withWarnings(read, 100), { instanceOf: FileProblem }).problem, 'tooLong');
});
