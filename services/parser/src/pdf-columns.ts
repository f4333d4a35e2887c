import { entriesOf } from './pdf-glossary.ts';
import type { Row, Segment } from './pdf-rows.ts';

/** A line of a page. Lines are listed in reading order. */
export type Line = Segment;

/** Maximum distance between two neighbouring rows in one block of columns, in font sizes. */
const maxRowGap = 3;
const maxColumns = 4;
/**
 * Minimum width of a gap between columns, in font sizes. It is larger for a block of two rows, because two rows may have a wide space at
 * the same place by chance.
 */
const gutter = { ofTwoRows: 1.5, ofMore: 0.9 };
/**
 * A column can be prose only if at least this share of its lines, not counting the first, begins in lower case or in a script without case.
 */
const proseShare = 0.3;
const wordsOfProse = 2.5;

/**
 * Converts the rows of a page to lines. A PDF may list columns of prose row by row, with gaps between the columns; then each column is read
 * from top to bottom. The rows of tables, and of terms with their definitions, have such gaps, too, but are not reordered.
 */
export function linesOf(rows: Row[]): Line[] {
  const lines: Line[] = [];
  for (let at = 0; at < rows.length; ) {
    const columns = (rows[at] as Row).segments.length > 1 ? columnsFrom(rows, at) : undefined;
    if (columns) {
      lines.push(...columns.lines);
      at += columns.rows;
    } else {
      const line = lineOf(rows[at] as Row);
      if (line) lines.push(line);
      at += 1;
    }
  }
  return lines;
}

function lineOf({ segments }: Row): Line | undefined {
  const [first] = segments;
  if (!first) return undefined;
  const text = segments.map((segment) => segment.text.trim()).join(' ');
  const end = segments.at(-1)?.end ?? first.end;
  return { ...first, text, end, size: Math.max(...segments.map(({ size }) => size)) };
}

interface Columns {
  rows: number;
  lines: Line[];
}

function columnsFrom(rows: Row[], at: number): Columns | undefined {
  const first = rows[at] as Row;
  const count = first.segments.length;
  if (count > maxColumns) return undefined;
  const ordered = first.segments.toSorted((a, b) => a.start - b.start);
  const gaps = ordered.slice(1).map((segment, n) => ({ from: (ordered[n] as Segment).end, to: segment.start }));
  const columns: Segment[][] = ordered.map((segment) => [segment]);
  const cells: (Segment | undefined)[][] = [ordered];
  const size = Math.max(...ordered.map((segment) => segment.size));
  let full = 1;
  let rowCount = 1;
  for (let next = at + 1; next < rows.length; next += 1) {
    const row = rows[next] as Row;
    if (!continues(row, rows[next - 1] as Row, size)) break;
    const narrowed = gaps.map((gap) => ({ ...gap }));
    const places = row.segments.map((segment) => place(segment, narrowed));
    if (new Set(places).size !== places.length || places.includes(-1)) break;
    if (narrowed.some(({ from, to }) => to - from < gutter.ofMore * size)) break;
    for (const [n, segment] of row.segments.entries()) columns[places[n] as number]?.push(segment);
    cells.push(ordered.map((_, n) => row.segments[places.indexOf(n)]));
    gaps.splice(0, gaps.length, ...narrowed);
    rowCount += 1;
    if (row.segments.length === count) full += 1;
  }
  const minimum = full === 2 ? gutter.ofTwoRows : gutter.ofMore;
  if (full < 2 || gaps.some(({ from, to }) => to - from < minimum * size)) return undefined;
  if (!columns.every(isProse)) return undefined;
  const entries = entriesOf(first.isRightToLeft ? cells.map((row) => row.toReversed()) : cells);
  if (entries) return { rows: rowCount, lines: entries };
  const inOrder = first.isRightToLeft ? columns.toReversed() : columns;
  return { rows: rowCount, lines: inOrder.flat().map((segment) => ({ ...segment, text: segment.text.trim() })) };
}

function continues(row: Row, before: Row, size: number): boolean {
  const [first] = row.segments;
  const [above] = before.segments;
  if (!first || !above) return false;
  const gap = above.y - first.y;
  return gap > 0 && gap < maxRowGap * size && row.segments.every((each) => Math.abs(each.size - size) < 0.2 * size);
}

/**
 * Returns the index of a segment's column, or -1 if the segment overlaps a gap. Narrows the gaps on both sides of the segment to its edges.
 */
function place(segment: Segment, gaps: { from: number; to: number }[]): number {
  let column = 0;
  for (const gap of gaps) {
    const middle = (gap.from + gap.to) / 2;
    if (segment.start >= middle) {
      gap.to = Math.min(gap.to, segment.start);
      column += 1;
    } else if (segment.end <= middle) {
      gap.from = Math.max(gap.from, segment.end);
    } else {
      return -1;
    }
  }
  return column;
}

function isProse(column: Segment[]): boolean {
  const words = column.reduce((sum, { text }) => sum + wordsIn(text), 0);
  const later = column.slice(1).filter(({ text }) => /^[\p{Ll}\p{Lo}]/u.test(text.trim()));
  return words >= wordsOfProse * column.length && later.length >= Math.max(1, proseShare * (column.length - 1));
}

/** Counts words. In scripts without spaces, three characters count as a word. */
function wordsIn(text: string): number {
  const wide = text.match(/[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}]/gu)?.length ?? 0;
  return text.trim().split(/\s+/u).length + wide / 3;
}
