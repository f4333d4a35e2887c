import { isHighSurrogate } from '@parley/kernel/input-checks';
import { closesFence, endOfBlock, type Fence, openingFence } from './code-fence.ts';
import { firstTokens, passageTokens } from './passage-tokens.ts';
import { type Line, linesAhead, splitLine } from './text-lines.ts';

/** Strength of the break before a passage. Chunks are cut at the strongest breaks. */
export const strengths = { word: 0, sentence: 1, line: 2, paragraph: 3, heading: 4 } as const;
type Strength = (typeof strengths)[keyof typeof strengths];

/** A sentence. In text without sentences, a line or part of a line. */
export interface Passage extends Line {
  tokens: number;
  strength: Strength;
  /** The headings above the passage, joined by ` > `. For a heading, includes the heading itself. */
  heading: string;
  isHeading: boolean;
  /** The table that the passage belongs to; undefined for the table's header row. */
  table: Table | undefined;
}

interface Table {
  header: string;
}

/** The share of a chunk that a repeated table header may take, so that enough room remains for rows. */
const shareOfHeader = 3 / 7;
const maxTitleLength = 200;
const lookLength = 2_000;

/**
 * Splits Markdown or plain text into passages: headings with `#` or underlined, paragraphs, pipe tables, rows of
 * separated values. Fenced code contains no headings or tables; a code block that fits is one passage.
 */
export function* passages(text: string, maxTokens: number): Generator<Passage> {
  const titles: string[] = [];
  let heading = '';
  let table: Table | undefined;
  let fence: Fence | undefined;
  let blockEnd = 0;
  let strength: Strength = strengths.paragraph;

  function* passagesOf(line: Line, of: Partial<Passage>, maxPassageTokens = maxTokens): Generator<Passage> {
    const isProse = !of.isHeading && !of.table;
    for (const part of splitLine(line, 4 * maxPassageTokens, isProse)) {
      const tokens = passageTokens(part.text);
      yield { ...part, tokens, heading, isHeading: false, table: undefined, ...of, strength };
      strength = isProse ? strengths.sentence : strengths.word;
    }
    strength = strengths.line;
  }

  const lines = linesAhead(text);
  for (const { line, next, afterNext } of lines) {
    if (line.start < blockEnd) continue;
    if (line.text === '') {
      strength = strengths.paragraph;
      table = undefined;
      continue;
    }
    const opened = fence === undefined ? openingFence(line.text) : undefined;
    const block = opened === undefined ? undefined : wholeBlock(text, line.start, opened, maxTokens);
    if (block) {
      yield { ...block, start: line.start, heading, isHeading: false, table: undefined, strength };
      [table, strength, blockEnd] = [undefined, strengths.line, line.start + block.text.length];
      continue;
    }
    const isCode = fence !== undefined || opened !== undefined;
    if (opened !== undefined) fence = opened;
    else if (fence !== undefined && closesFence(line.text, fence)) fence = undefined;

    const isFirst = strength >= strengths.paragraph;
    const underlined = isFirst && !isCode ? underlinedTitle(line.text, next?.text ?? '') : undefined;
    const title = isCode ? undefined : (titleOf(line.text) ?? underlined);
    if (title) {
      titles.length = Math.min(titles.length, title.level - 1);
      titles[title.level - 1] = title.text;
      heading = titles.filter(Boolean).join(' > ');
      table = undefined;
      strength = strengths.heading;
      // A title and its underline form one passage, so that they are never separated.
      const whole = title === underlined ? { ...line, text: `${line.text}\n${next?.text}` } : line;
      yield* passagesOf(whole, { isHeading: true });
      if (whole !== line) lines.next();
      strength = strengths.paragraph;
    } else if (table && !isCode) {
      yield* passagesOf(line, { table }, maxTokens - passageTokens(table.header));
    } else {
      const hasDelimiter = !isCode && isDelimiter(next);
      table = isCode ? undefined : tableFrom(line, next, afterNext, Math.floor(maxTokens * shareOfHeader));
      if (table) strength = strengths.paragraph;
      yield* passagesOf(line, {});
      if (table && hasDelimiter && next) {
        yield* passagesOf(next, {});
        lines.next();
      }
    }
  }
}

/** Returns a code block that is short enough for one passage. */
function wholeBlock(text: string, start: number, fence: Fence, maxTokens: number) {
  const end = endOfBlock(text, start, fence, 4 * maxTokens);
  if (end === undefined) return undefined;
  const block = text.slice(start, end);
  const tokens = passageTokens(block);
  return tokens > maxTokens ? undefined : { text: block, tokens };
}

interface Title {
  level: number;
  text: string;
}

function titleOf(line: string): Title | undefined {
  const found = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/u.exec(line.slice(0, lookLength));
  const [, marks, title] = found ?? [];
  if (!marks || !title) return undefined;
  return { level: marks.length, text: cutTo(title.replace(/[ \t]#+$/u, ''), maxTitleLength).trim() };
}

/**
 * Returns the title if the line is underlined. The rules are stricter than Markdown's, because plain text has `--` above signatures and
 * rules below paragraphs: the line must be short, and the underline must have at least two `=` or three `-`.
 */
function underlinedTitle(line: string, below: string): Title | undefined {
  if (line.length > maxTitleLength || below.length > lookLength) return undefined;
  const [, marks] = /^ {0,3}(={2,}|-{3,})$/u.exec(below) ?? [];
  if (!marks || !/[\p{L}\p{N}]/u.test(line)) return undefined;
  const level = marks.startsWith('=') ? 1 : 2;
  const other = level === 1 ? notUnderlined : notUnderlinedByDashes;
  return other.test(line) ? undefined : { level, text: line.trim() };
}

/** Lines that cannot be an underlined title: code, quotes, list items and table rows. */
const notUnderlined = /^(?: {4}| {0,3}(?:\t|[>|]|[-*+][ \t]))/u;
/**
 * Lines that cannot be a title underlined with dashes: those of `notUnderlined`, and numbered items, which dashes separate from the
 * following text.
 */
const notUnderlinedByDashes = new RegExp(`${notUnderlined.source}|^ {0,3}\\d+[.)][ \\t]`, 'u');

/** Returns the table whose header is this line: a pipe table, or rows with the same number of separators. */
function tableFrom(
  line: Line,
  next: Line | undefined,
  afterNext: Line | undefined,
  headerTokens: number,
): Table | undefined {
  const header = firstTokens(line.text, headerTokens);
  if (isDelimiter(next) && line.text.includes('|')) {
    const whole = `${header}\n${next?.text}`;
    return { header: passageTokens(whole) > headerTokens ? header : whole };
  }
  const isPipeTable = [line, next].every((each) => /^ {0,3}\|/u.test(each?.text ?? ''));
  if (!isPipeTable && !areSeparated(line, next, afterNext)) return undefined;
  return { header };
}

function isDelimiter(line: Line | undefined): boolean {
  const text = line?.text.slice(0, lookLength) ?? '';
  return text.includes('-') && text.includes('|') && /^[\s|:-]+$/u.test(text);
}

/**
 * Reports whether three lines are rows of separated values. A comma or semicolon before a space does not count as a separator, because
 * prose contains such commas.
 */
function areSeparated(...lines: (Line | undefined)[]): boolean {
  const looks = lines.map((line) => line?.text.slice(0, lookLength) ?? '');
  return [/,(?! )/gu, /;(?! )/gu, /\t/gu].some((separator) => {
    const counts = looks.map((text) => text.match(separator)?.length ?? 0);
    return counts.every((count) => count >= 2 && count === counts[0]);
  });
}

function cutTo(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return text.slice(0, isHighSurrogate(text.charCodeAt(maxLength - 1)) ? maxLength - 1 : maxLength);
}
