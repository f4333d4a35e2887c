import type { Segment } from './pdf-rows.ts';

/** The cells of a row in reading order; undefined for a column without text in this row. */
type Cells = (Segment | undefined)[];

/**
 * Minimum share of rows without a term, among the rows down to the last term. A row without a term continues a definition. Columns of prose
 * have fewer rows whose first column is empty.
 */
const meaningAlone = 0.3;
const fewestTerms = 3;
const longestHeader = 2;
const sentenceEnd = /[.!?:;。！？：；]["'”’»)\]]*$/u;
/** A term that begins with a lower-case letter, or a short term in a script without case. */
const termAlone = /^(?:\p{Ll}|\p{Lo}.{0,11}$)/u;
const punctuation = /[.,;:!?。，；：！？、،؛؟।]/u;

/** Returns the lines of rows with terms and definitions, each term before its definition. Returns undefined for columns of prose. */
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

/** Returns the indexes of the rows in which an entry, a term with its definition, begins. */
function startsOf(rows: Cells[]): number[] | undefined {
  const withTerm = rows.flatMap(([term], n) => (term ? [n] : []));
  if (withTerm[0] === 0 && (hasGapsOfTerms(rows, withTerm) || hasTermsAlone(rows, withTerm))) return withTerm;
  return commonStarts(rows);
}

/** Reports whether enough rows have no term. In a list of terms, a definition of several lines has its term only beside the first line. */
function hasGapsOfTerms(rows: Cells[], withTerm: number[]): boolean {
  const down = rows.slice(0, (withTerm.at(-1) ?? 0) + 1);
  if (down.some(([, meaning]) => !meaning)) return false;
  const gaps = down.filter(([term]) => !term).length;
  if (gaps === 0 || gaps < meaningAlone * down.length) return false;
  return down.every(
    ([term], n) => !term || n + 1 >= down.length || down[n + 1]?.[0] || !sentenceEnd.test(term.text.trim()),
  );
}

/** Reports whether the first column has only terms without punctuation, possibly below a column heading. */
function hasTermsAlone(rows: Cells[], withTerm: number[]): boolean {
  const terms = withTerm.map((n) => rows[n]?.[0]?.text.trim() ?? '');
  const isHeader = rows[0]?.every((cell) => cell && cell.text.trim().split(/\s+/u).length <= longestHeader);
  if (isHeader && !termAlone.test(terms[0] ?? '')) terms.shift();
  return terms.length >= fewestTerms && terms.every((text) => termAlone.test(text) && !punctuation.test(text));
}

/**
 * Returns the indexes of the rows in which both columns begin a sentence. Returns undefined if only one column begins a sentence in any
 * row, as happens in columns of prose.
 */
function commonStarts(rows: Cells[]): number[] | undefined {
  const starts = [0];
  let above = '';
  for (const [n, row] of rows.entries()) {
    const [begins, meaningBegins] = row.map((cell) => /^[\p{Lu}\p{N}]/u.test(cell?.text.trim() ?? ''));
    if (n > 0 && begins !== meaningBegins) return undefined;
    if (n > 0 && begins) {
      if (sentenceEnd.test(above)) return undefined;
      starts.push(n);
    }
    above = row[0]?.text.trim() ?? above;
  }
  return starts.length > 2 ? starts : undefined;
}
