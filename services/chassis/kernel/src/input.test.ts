import test from 'ava';
import { z } from 'zod';
import { type FieldProblem, isDomainError } from './errors.ts';
import { anyText, between, graphEnum, type Page, page, parseInput, rule, text, withoutNulls } from './input.ts';

/** Returns the problems of the input; an empty list if the input is valid. */
function problemsOf(parse: () => unknown): FieldProblem[] {
  try {
    parse();
    return [];
  } catch (error) {
    if (!isDomainError(error, 'invalid')) throw error;
    return error.fields;
  }
}

const note = z.object({ title: text(3), body: text(3, 2), hint: anyText(2).nullable() });
const noteChanges = note.partial();
type NoteChanges = z.input<typeof noteChanges>;

test('every problem of an input is reported at once, with its path', (t) => {
  const input = { title: '\u3000 ', body: 'a\0', hint: '\ud800' };
  t.deepEqual(
    problemsOf(() => parseInput(note, input)),
    [
      { path: 'input.title', message: 'must not be blank' },
      { path: 'input.body', message: 'must not hold the character NUL' },
      { path: 'input.hint', message: 'must not hold half of a surrogate pair' },
    ],
  );
});

test('only the first problem of a value is reported, with its whole path', (t) => {
  const even = rule((value: string) => (value.length % 2 === 0 ? undefined : 'must be even'));
  const nested = z.object({ lists: z.array(z.object({ word: text(4).check(even) })) });
  const input = { lists: [{ word: 'ab' }, { word: '' }, { word: 'abc' }] };
  t.deepEqual(
    problemsOf(() => parseInput(nested, input, '')),
    [
      { path: 'lists.1.word', message: 'must not be blank' },
      { path: 'lists.2.word', message: 'must be even' },
    ],
  );
});

test('a valid input is returned unchanged', (t) => {
  const input = { title: 'Ada', body: ' a ', hint: '' };
  t.deepEqual(parseInput(note, input), input);
});

test('omitted and undefined fields are not in the result, and null is, where it is allowed', (t) => {
  const right: NoteChanges = { title: undefined, hint: null };
  t.deepEqual(Object.entries(parseInput(noteChanges, right)), [['hint', null]]);
  const wrong: NoteChanges = { title: null };
  t.deepEqual(
    problemsOf(() => parseInput(noteChanges, wrong)),
    [{ path: 'input.title', message: 'must not be null' }],
  );
});

test('withoutNulls makes null the same as omitted, and a required field must be given', (t) => {
  const input: NoteChanges = { title: null, body: 'ab', hint: null };
  t.deepEqual(parseInput(noteChanges, withoutNulls(input)), { body: 'ab' });
  t.deepEqual(
    problemsOf(() =>
      parseInput(noteChanges.required({ title: true }), { ...withoutNulls(input), title: undefined as never }),
    ),
    [{ path: 'input.title', message: 'must be given' }],
  );
});

test('lengths count code points, exactly at the limit', (t) => {
  const word = z.object({ word: text(10, 8) });
  const problemsWith = (given: string) =>
    problemsOf(() => parseInput(word, { word: given })).map(({ message }) => message);
  for (const right of ['🎉'.repeat(8), '🎉'.repeat(10), 'x'.repeat(10)]) t.deepEqual(problemsWith(right), [], right);
  for (const long of ['🎉'.repeat(11), 'x'.repeat(11), `${'🎉'.repeat(10)}x`]) {
    t.deepEqual(problemsWith(long), ['must have at most 10 characters'], long);
  }
  t.deepEqual(problemsWith('🎉'.repeat(7)), ['must have at least 8 characters']);
});

test('a number is within its bounds, and never minus zero', (t) => {
  const rates = z.object({ rate: between(0, 1) });
  t.true(Object.is(parseInput(rates, { rate: -0 }).rate, 0));
  t.is(parseInput(rates, { rate: 1 }).rate, 1);
  for (const rate of [-0.01, 1.01]) {
    t.deepEqual(
      problemsOf(() => parseInput(rates, { rate })),
      [{ path: 'input.rate', message: 'must be between 0 and 1' }],
    );
  }
  for (const rate of [Number.NaN, Number.POSITIVE_INFINITY])
    t.is(problemsOf(() => parseInput(rates, { rate })).length, 1);
});

test('a page has at least one element, after an id or from the beginning', (t) => {
  const whole: Page = {};
  t.deepEqual(parseInput(page, whole, ''), {});
  t.deepEqual(parseInput(page, { first: null, after: null }, ''), {});
  t.deepEqual(parseInput(page, { first: 1, after: 0 }, ''), { first: 1, after: 0 });
  t.deepEqual(
    problemsOf(() => parseInput(page, { first: 0, after: -1 }, '')),
    [
      { path: 'first', message: 'must be at least 1' },
      { path: 'after', message: 'must not be negative' },
    ],
  );
});

test('a schema that does not fit its input type does not compile', (t) => {
  const color = z.object({ color: graphEnum<'RED'>(), note: text(3).nullish() }).partial();
  interface ColorInput {
    color?: 'RED' | null;
    note?: string | null;
  }
  const right: ColorInput = {};
  t.deepEqual(parseInput(color, right), {});
  // This function is only compiled, never called.
  const wrong = (
    more: ColorInput & { size?: number },
    less: Omit<ColorInput, 'note'>,
    other: { color?: 'BLUE'; note?: string },
  ) => {
    // @ts-expect-error the schema has no `size`
    parseInput(color, more);
    // @ts-expect-error the input has no `note`
    parseInput(color, less);
    // @ts-expect-error the input accepts a value that the schema does not
    parseInput(color, other);
  };
  t.is(typeof wrong, 'function');
});
