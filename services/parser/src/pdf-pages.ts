import { heading, plainText } from './markdown.ts';
import type { Line } from './pdf-columns.ts';
import { joinedAtHyphen, type WordsOf, wordsOf } from './pdf-hyphens.ts';

/** Minimum font size of headings of the first, second and third level, as a multiple of the body text's font size. */
const headingFactors = [1.7, 1.35, 1.15];
const longestHeading = 200;
/** Maximum gap between lines of one paragraph, as a multiple of the usual line distance. */
const paragraphGap = 1.3;
/** Maximum gap between lines of one paragraph, in font sizes, for pages whose usual line distance cannot be measured. */
const unmeasuredGap = 1.6;
/** Maximum distance between lines of the same title, in font sizes. */
const titleGap = 1.75;
const fewestGaps = 3;
const bullet = /^[•◦▪‣●○■∙·–—-]\s+/u;
const numbered = /^(?:\p{N}+[.)]|\p{N}+\.\p{N}|[•◦▪‣●○■∙·–—-]\s)/u;
const sentenceEnd = /[.!?:;。！？：…]["'”’»)\]]*$/u;

/**
 * Returns a function that writes the lines of a page as Markdown. Headings are recognized by font size, and paragraphs by the distance
 * between lines. Words split at a line end are joined.
 */
export function writerOfPages(pages: Line[][]): (lines: Line[]) => string {
  const bodySize = bodySizeOf(pages);
  const words = wordsOf(() => pages.flat());
  const usual = lineDistance(pages.flatMap(gapsOf));
  return (lines) => {
    const distance = lineDistance(gapsOf(lines)) ?? usual;
    return writePage(lines, { bodySize, distance: distance ?? unmeasuredGap / paragraphGap, words });
  };
}

function bodySizeOf(pages: Line[][]): number {
  const characters = new Map<number, number>();
  for (const { size, text } of pages.flat()) {
    const rounded = Math.round(size * 2) / 2;
    characters.set(rounded, (characters.get(rounded) ?? 0) + text.length);
  }
  return [...characters].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 0;
}

/** Returns the distance from each line to the next line of the same size, in font sizes. */
function gapsOf(lines: Line[]): number[] {
  return lines.slice(1).flatMap((line, n) => {
    const before = lines[n] as Line;
    const gap = (before.y - line.y) / line.size;
    return Math.abs(before.size - line.size) < 0.05 * line.size && gap > 0.7 && gap < 5 ? [gap] : [];
  });
}

/** Returns the most frequent distance; the smallest one if several are equally frequent; undefined if there are too few distances. */
function lineDistance(gaps: number[]): number | undefined {
  if (gaps.length < fewestGaps) return undefined;
  const counts = new Map<number, number>();
  for (const gap of gaps) {
    const rounded = Math.round(gap * 10) / 10;
    counts.set(rounded, (counts.get(rounded) ?? 0) + 1);
  }
  return [...counts].toSorted(([gap, count], [otherGap, otherCount]) => otherCount - count || gap - otherGap)[0]?.[0];
}

interface PageStyle {
  bodySize: number;
  /** The usual distance of lines, in font sizes. */
  distance: number;
  words: WordsOf;
}

interface Block {
  level: number | undefined;
  text: string;
  /** The last line of the block. */
  last: Line;
}

function writePage(lines: Line[], { bodySize, distance, words }: PageStyle): string {
  const written: string[] = [];
  let block: Block | undefined;
  const end = () => {
    if (block) written.push(block.level === undefined ? body(block.text) : heading(block.level, block.text));
    block = undefined;
  };
  for (const line of lines) {
    const level = headingLevel(line, bodySize);
    const before: Block | undefined = block;
    const isParagraph = before?.level === undefined && before && beginsParagraph(line, before, distance);
    if (before && before.level === level && (level === undefined ? !isParagraph : continuesTitle(line, before))) {
      const joined = joinedAtHyphen(before.text, line.text, words);
      if (joined !== undefined || level !== undefined) {
        block = { level, text: joined ?? `${before.text} ${line.text}`, last: line };
        continue;
      }
    }
    end();
    if (before && before.level === undefined && (level !== undefined || isParagraph)) written.push('\n');
    block = { level, text: line.text, last: line };
  }
  end();
  return `${written.join('')}\n`;
}

function body(text: string): string {
  return `${plainText(text).replace(bullet, '- ')}\n`;
}

function beginsParagraph(line: Line, { text, last }: Block, distance: number): boolean {
  const gap = last.y - line.y;
  const size = Math.max(line.size, last.size);
  if (gap > -0.5 * size) return gap > paragraphGap * distance * size;
  // A line that is higher on the page than the last line, such as the first line of the next column, continues the paragraph if it
  // continues the sentence.
  return sentenceEnd.test(text) || !/^\p{Ll}/u.test(line.text);
}

function continuesTitle(line: Line, { text, last }: Block): boolean {
  const gap = last.y - line.y;
  return (
    gap > 0 &&
    gap < titleGap * line.size &&
    Math.abs(line.size - last.size) < 0.05 * line.size &&
    text.length + line.text.length < longestHeading &&
    !/[.:!?。]$/u.test(text) &&
    !numbered.test(line.text)
  );
}

function headingLevel({ size, text }: Line, bodySize: number): number | undefined {
  if (text.length > longestHeading || !/\p{L}/u.test(text)) return undefined;
  const index = headingFactors.findIndex((factor) => size >= factor * bodySize);
  return index === -1 ? undefined : index + 1;
}
