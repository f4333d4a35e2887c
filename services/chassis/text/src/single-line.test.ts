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
const whole = [
  'returns.md',
  'Prüfung – Teil 2 (neu).pdf',
  '退货.md',
  'a b',
  '👩‍🔧.md',
  '👩🏽‍❤️‍👨🏿',
  '🏴󠁧󠁢󠁳󠁣󠁴󠁿 Edinburgh',
  'می‌خواهم.pdf',
  'क्‍ष क्‌ष',
  'שלום\u200f!',
];
const invisible = {
  'soft hyphen': '\u00ad',
  'zero-width space': '\u200b',
  'zero-width non-joiner': '\u200c',
  'zero-width joiner': '\u200d',
  'word joiner': '\u2060',
  'invisible plus': '\u2064',
  'byte order mark': '\ufeff',
  'Hangul filler': '\u3164',
  tags: '\u{e0001}\u{e0041}\u{e0042}',
};

/** Characters without ink that take up space within a text. */
const inkless = {
  'blank Braille': '\u2800',
  'annotation anchor': '\ufff9',
  'object that is not there': '\ufffc',
  'Khitan filler': '\u{16fe4}',
  'null notehead': '\u{1d159}',
  'Egyptian joiner': '\u{13430}',
};

test('a name of one line has no break, control character or mark of direction', (t) => {
  for (const name of broken)
    t.is(singleLineProblem(name), 'must not hold line breaks or control characters', JSON.stringify(name));
  for (const name of whole) t.is(singleLineProblem(name), undefined, name);
});

test('in one line each break is a space', (t) => {
  for (const name of broken) t.is(toSingleLine(name), 'a b', JSON.stringify(name));
  for (const name of whole) t.is(toSingleLine(name), name);
});

test('characters without a visible shape are removed from a name of one line', (t) => {
  for (const [what, text] of Object.entries(invisible)) {
    t.is(toSingleLine(`${text}a${text}b ${text}日${text}`), 'ab 日', what);
    t.is(singleLineProblem(`a${text}`), undefined, what);
  }
  t.is(toSingleLine(`🏴${'\u{e0041}'.repeat(100)}`), `🏴${'\u{e0041}'.repeat(7)}`);
});

test('a line without visible characters becomes empty', (t) => {
  for (const [what, text] of Object.entries({
    ...invisible,
    ...inkless,
    'variation selector': '\ufe0f',
    mark: '\u200e',
  })) {
    t.is(toSingleLine(`${text} ${text}`), '', what);
  }
});
