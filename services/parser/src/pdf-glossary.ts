import type { Segment } from './pdf-rows.ts';

/** The cells of a row in reading order; a column may have none in it. */
type Cells = (Segment | undefined)[];

/** Of the rows down to the last term: so many have a meaning alone, as it goes on. A column of prose has fewer blank lines. */
const meaningAlone = 0.3;
const fewestTerms = 3;
const longestHeader = 2;
const sentenceEnd = /[.!?:;。！？：；]["'”’»)\]]*$/u;
const punctuation = /[.,;:!?。，；：！？、]/u;

/** The lines of rows that hold terms and their meanings, each term before its meaning. Undefined for columns of prose. */
export function entriesOf(rows: Cells[]): Segment[] | undefined {
  if (rows[0]?.length !== 2) return undefined;
  const starts = startsOf(rows);
  if (!starts) return undefined;
  return starts.flatMap((start, n) => {
    const entry = rows.slice(start, starts[n + 1]);
    const terms = entry.flatMap(([term]) => (term ? [term] : []));
    const [first, ...others] = entry.flatMap(([, meaning]) => (meaning ? [meaning] : []));
    const parts = first ? [...terms, first] : terms;
    const [top] = parts;
    if (!top) return [];
    return [{ ...top, text: parts.map(({ text }) => text.trim()).join(' ') }, ...others].map((line) => ({
      ...line,
      text: line.text.trim(),
    }));
  });
}

/** The rows that begin an entry. */
function startsOf(rows: Cells[]): number[] | undefined {
  const withTerm = rows.flatMap(([term], n) => (term ? [n] : []));
  if (withTerm[0] === 0 && (hasGapsOfTerms(rows, withTerm) || hasTermsAlone(rows, withTerm))) return withTerm;
  return commonStarts(rows);
}

/** Terms that stand beside the first line of their meaning, which has more lines. */
function hasGapsOfTerms(rows: Cells[], withTerm: number[]): boolean {
  const down = rows.slice(0, (withTerm.at(-1) ?? 0) + 1);
  if (down.some(([, meaning]) => !meaning)) return false;
  const gaps = down.filter(([term]) => !term).length;
  if (gaps === 0 || gaps < meaningAlone * down.length) return false;
  return down.every(
    ([term], n) => !term || n + 1 >= down.length || down[n + 1]?.[0] || !sentenceEnd.test(term.text.trim()),
  );
}

/** Terms in small letters, without any punctuation, perhaps below the names of the columns. */
function hasTermsAlone(rows: Cells[], withTerm: number[]): boolean {
  const isHeader = rows[0]?.every((cell) => cell && cell.text.trim().split(/\s+/u).length <= longestHeader);
  const terms = withTerm.slice(isHeader ? 1 : 0).map((n) => rows[n]?.[0]?.text.trim() ?? '');
  return terms.length >= fewestTerms && terms.every((text) => /^[\p{Ll}\p{Lo}]/u.test(text) && !punctuation.test(text));
}

/** Rows in which both columns begin anew, if neither does so elsewhere: columns of prose have their sentences in different rows. */
function commonStarts(rows: Cells[]): number[] | undefined {
  const begins = (column: number) =>
    rows.flatMap((row, n) => (n > 0 && /^[\p{Lu}\p{N}]/u.test(row[column]?.text.trim() ?? '') ? [n] : []));
  const [ofTerms, ofMeanings] = [begins(0), begins(1)];
  if (ofTerms.length < 2 || ofTerms.join() !== ofMeanings.join()) return undefined;
  const endBefore = (start: number) =>
    rows
      .slice(0, start)
      .findLast(([term]) => term)?.[0]
      ?.text.trim() ?? '';
  return ofTerms.some((start) => sentenceEnd.test(endBefore(start))) ? undefined : [0, ...ofTerms];
}
