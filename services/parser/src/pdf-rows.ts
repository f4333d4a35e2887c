import { withoutLetterSpacing } from './pdf-spacing.ts';

/** An item of pdf.js's `getTextContent`, with the used properties only. Marks of structure have no `str`. */
export interface TextItem {
  str?: string;
  dir?: string;
  hasEOL?: boolean;
  transform?: number[];
  width?: number;
  height?: number;
  fontName?: string;
}

/**
 * A text within a row that has no gap of a font size or more. Positions are in points: `start` and `end` along the writing direction, `y`
 * across it.
 */
export interface Segment {
  text: string;
  size: number;
  start: number;
  end: number;
  /** The baseline: larger is further up. */
  y: number;
}

/** Texts on one baseline, in reading order. */
export interface Row {
  segments: Segment[];
  isRightToLeft: boolean;
}

interface Run extends Segment {
  /** The index of this text among the texts of its row, in file order. */
  order: number;
  /** Whether the file has a space before this text. */
  spaceBefore: boolean;
  rightToLeft: boolean;
}

/** Minimum gap between two segments of a row, in font sizes. A gap this wide may separate columns. */
const segmentGap = 1;
/** A gap wider than this, in font sizes, is a space between words. */
const wordGap = 0.15;
/** Some files draw a text twice to make it look bold: maximum offset between the two, in font sizes. */
const boldOffset = 0.2;
const nextRow = 0.2;
/**
 * If two texts overlap vertically by at least this share of the smaller one's height, they are in one row. A superscript overlaps this
 * much.
 */
const rowOverlap = 0.5;
/** Depth of letters below the baseline, in font sizes. */
const descent = 0.2;

/** Groups the texts of a page into rows. @param isVertical whether the font with this name writes from top to bottom */
export function rowsOf(items: TextItem[], isVertical: (fontName: string) => boolean): Row[] {
  const rows: Row[] = [];
  let runs: Run[] = [];
  let spaceBefore = false;
  for (const { str, dir, hasEOL, transform, width = 0, height = 0, fontName = '' } of items) {
    if (str === undefined) continue;
    if (str.trim() === '') {
      spaceBefore ||= str !== '';
    } else if (transform) {
      const place = placeOf(transform, width, height, isVertical(fontName));
      if (runs.length > 0 && isNextRow(place, runs.at(-1) as Run)) {
        rows.push(rowOf(runs));
        runs = [];
      }
      runs.push({ text: lettersOf(str), ...place, order: runs.length, spaceBefore, rightToLeft: dir === 'rtl' });
      spaceBefore = false;
    }
    if (hasEOL && runs.length > 0) {
      rows.push(rowOf(runs));
      runs = [];
      spaceBefore = false;
    }
  }
  if (runs.length > 0) rows.push(rowOf(runs));
  return rows;
}

/** Shapes of Arabic letters within a word, and ligatures of such shapes. Some fonts map glyphs to these shapes and not to the letters. */
const presentationForms = /[\ufb50-\ufdff\ufe70-\ufefc]+/gu;

function lettersOf(text: string): string {
  // Normalization puts a space before a vowel sign that has no letter.
  return text.replaceAll(presentationForms, (forms) => forms.normalize('NFKC').replaceAll(/ (?=\p{M})/gu, ''));
}

/**
 * Reports whether a text begins a new row although pdf.js reported no line end before it. pdf.js joins the lines of two close columns. It
 * also reports no line end at the border of a form: a content stream that the page draws, such as a filled field or a stamp.
 */
function isNextRow(place: Omit<Segment, 'text'>, before: Run): boolean {
  const distance = Math.abs(place.y - before.y);
  if (place.start < before.start - place.size && distance > nextRow * place.size) return true;
  if (overlapOf(place, before) >= rowOverlap * Math.min(place.size, before.size)) return false;
  // Lines in two columns may have different heights.
  const size = Math.max(place.size, before.size);
  return distance > size || Math.max(place.start - before.end, before.start - place.end) < segmentGap * size;
}

/** Returns the vertical overlap of two texts. A text's height reaches from below its baseline to the top of a capital letter. */
function overlapOf(a: Omit<Segment, 'text'>, b: Omit<Segment, 'text'>): number {
  const top = Math.min(a.y + (1 - descent) * a.size, b.y + (1 - descent) * b.size);
  return top - Math.max(a.y - descent * a.size, b.y - descent * b.size);
}

function placeOf(transform: number[], width: number, height: number, isVertical: boolean): Omit<Segment, 'text'> {
  const [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0] = transform;
  const size = Math.hypot(c, d);
  if (isVertical) return { size, start: -y, end: height - y, y: x };
  if (b === 0 && a > 0) return { size, start: x, end: x + width, y };
  const length = Math.hypot(a, b) || 1;
  const [cos, sin] = [a / length, b / length];
  const start = x * cos + y * sin;
  return { size, start, end: start + width, y: y * cos - x * sin };
}

function rowOf(runs: Run[]): Row {
  if (isRightToLeft(runs)) return { segments: joined(inRightToLeftOrder(runs), true), isRightToLeft: true };
  const inOrder = runs.map((run) => (run.rightToLeft ? { ...run, text: inLeftToRightOrder(run.text) } : run));
  return { segments: joined(withoutLetterSpacing(inOrder), false), isRightToLeft: false };
}

const rightToLeftPart = /([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff][\s\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]*)/u;

/** Restores the left-to-right order of a text. pdf.js returns a few words in right-to-left order if one of them is right-to-left. */
function inLeftToRightOrder(text: string): string {
  const parts = text.split(rightToLeftPart).map((part) => part.trim());
  return parts
    .filter((part) => part !== '')
    .toReversed()
    .join(' ');
}

const rightToLeftLetters = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/gu;
const otherLetters = /\p{L}/gu;

function isRightToLeft(runs: Run[]): boolean {
  if (!runs.some(({ rightToLeft }) => rightToLeft)) return false;
  const text = runs.map((run) => run.text).join('');
  const count = text.match(rightToLeftLetters)?.length ?? 0;
  return 2 * count > (text.match(otherLetters)?.length ?? 0);
}

/** Orders the texts of a row from right to left. Consecutive left-to-right texts, such as the parts of a number, keep their own order. */
function inRightToLeftOrder(runs: Run[]): Run[] {
  const ordered: Run[] = [];
  let others: Run[] = [];
  for (const run of runs.toSorted((a, b) => b.end - a.end)) {
    if (run.rightToLeft) {
      ordered.push(...withMarksOfRow(others), run);
      others = [];
    } else {
      others.unshift(run);
    }
  }
  ordered.push(...withMarksOfRow(others));
  return ordered.map((run, n) => ({ ...run, spaceBefore: n > 0 && hasSpaceBetween(ordered[n - 1] as Run, run) }));
}

function hasSpaceBetween(a: Run, b: Run): boolean {
  return Math.abs(a.order - b.order) === 1 && (a.order < b.order ? b : a).spaceBefore;
}

const mark = /^[^\p{L}\p{N}\p{Sc}%]+$/u;
const marksBefore = /^(?:[,;:!?]|\.(?!\p{L}))+(?=.)/u;

/**
 * Orders consecutive left-to-right texts within a right-to-left row. Punctuation before and after them follows the row's order: if a
 * sentence ends with a number, its full stop is drawn to the left of the number.
 */
function withMarksOfRow(runs: Run[]): Run[] {
  const first = runs.findIndex(({ text }) => !mark.test(text));
  if (first === -1) return runs.toReversed();
  const last = runs.findLastIndex(({ text }) => !mark.test(text));
  const inner = runs.slice(first, last + 1).map((run) => ({ ...run }));
  const [begin, end] = [inner[0] as Run, inner.at(-1) as Run];
  const [marks = ''] = marksBefore.exec(begin.text) ?? [];
  begin.text = begin.text.slice(marks.length);
  end.text += marks;
  return [...runs.slice(last + 1).toReversed(), ...inner, ...runs.slice(0, first).toReversed()];
}

function joined(runs: Run[], inRightToLeft: boolean): Segment[] {
  const segments: Segment[] = [];
  let last: Segment | undefined;
  let before: Run | undefined;
  for (const run of runs) {
    if (before && isDrawnAgain(run, before)) continue;
    const size = Math.max(run.size, last?.size ?? 0);
    const gap = last ? Math.max(run.start - last.end, last.start - run.end) : 0;
    if (
      last &&
      gap < segmentGap * size &&
      !(run.start < last.start - size && !run.rightToLeft && !before?.rightToLeft)
    ) {
      const isApart =
        run.spaceBefore ||
        gap > wordGap * size ||
        (inRightToLeft ? isApartFromLeft(run, before) : isDrawnOver(run, last));
      last.text += isApart && !last.text.endsWith(' ') ? ` ${run.text}` : run.text;
      last.size = size;
      last.start = Math.min(last.start, run.start);
      last.end = Math.max(last.end, run.end);
    } else {
      const { text, start, end, y } = run;
      last = { text, size: run.size, start, end, y };
      segments.push(last);
    }
    before = run;
  }
  return segments;
}

/** In a right-to-left row, reports whether two consecutive left-to-right texts have a space between them. */
function isApartFromLeft(run: Run, before: Run | undefined): boolean {
  if (!before || before.rightToLeft || run.rightToLeft) return false;
  return run.start - before.end > wordGap * run.size;
}

/**
 * Reports whether a text, such as the text of a form, is drawn over the text before it. The two are then separate words. Accents and kerned
 * letters overlap less.
 */
function isDrawnOver(run: Run, { end }: Segment): boolean {
  return end - run.start > run.size && run.text.length > 1;
}

function isDrawnAgain(run: Run, before: Run): boolean {
  return run.text === before.text && Math.hypot(run.start - before.start, run.y - before.y) < boldOffset * run.size;
}
