import { type MarkdownWriter, oneLine, plainText, tableHead, tableRow } from './markdown.ts';

/**
 * A range of cells that are displayed as one cell. Rows and columns count from 1; the bottom row and the right column belong to the range.
 */
export interface MergedRange {
  top: number;
  left: number;
  bottom: number;
  right: number;
}

/** The rows and columns that contain values. */
export interface Grid {
  /** The number of each row, ascending; in file order if the file's rows are not ascending. */
  rowNumbers: number[];
  /** The number of each column, ascending. */
  columns: number[];
  /** Returns a row's values, one for each of `columns`; '' for an empty cell. `row` is an index in `rowNumbers`. */
  valuesOf(row: number): string[];
}

/** Maximum number of cells visited to repeat the values of merged cells. A single range may cover all cells that a sheet can have. */
export const maxMergedCells = 1_000_000;
/** Rows are written in batches of at least this many characters, because every write checks its text. */
const batchCharacters = 65_536;
const longestHeader = 5;
const maxHeaderSpans = 1_000;
const maxTitles = 20;
/** A table must have a row with several values within this many rows below a title. */
const rowsBelow = 20;

/**
 * Writes the title lines of a table, then the table. Each cell of a merged range gets the range's value. A header of several rows is joined
 * to one row. Rows are written in batches, so that a sparse sheet is abandoned as soon as its text exceeds the limit.
 * @returns false if there are too many merged cells to repeat every value
 */
export function writeSheetTable(grid: Grid, ranges: MergedRange[], writer: Pick<MarkdownWriter, 'append'>): boolean {
  const { columns, rowNumbers } = grid;
  const merged = mergedCells(grid, ranges);
  const rows = (row: number) => merged.filled(row, grid.valuesOf(row));
  const titles = titleRows(grid, merged.spans);
  for (let row = 0; row < titles; row += 1) writer.append(`${plainText(oneLine(grid.valuesOf(row).join(' ')))}\n\n`);
  const headerEnd = lastHeaderRow(grid, titles, merged.spans);
  const headers = Array.from({ length: headerEnd - titles + 1 }, (_, at) => rows(titles + at));
  const header = columns.map((_, place) => {
    const texts = filledIn(headers.map((values) => values[place] ?? ''));
    return texts.filter((text, at) => text !== texts[at - 1]).join(' ');
  });
  let batch = tableHead(header);
  for (let row = headerEnd + 1; row < rowNumbers.length; row += 1) {
    batch += tableRow(rows(row));
    if (batch.length < batchCharacters) continue;
    writer.append(batch);
    batch = '';
  }
  writer.append(`${batch}\n`);
  return merged.isComplete;
}

/** A merged range as indexes of the grid's rows and columns. The last row and the last column belong to it. */
interface Span {
  firstRow: number;
  lastRow: number;
  firstPlace: number;
  lastPlace: number;
}

function mergedCells({ rowNumbers, columns, valuesOf }: Grid, ranges: MergedRange[]) {
  const fills = new Map<number, [place: number, text: string][]>();
  const spans: Span[] = [];
  let looked = 0;
  let isComplete = true;
  const isSorted = rowNumbers.every((row, at) => at === 0 || row > (rowNumbers[at - 1] ?? 0));
  for (const range of isSorted ? ranges : []) {
    const span = {
      firstRow: firstAtLeast(rowNumbers, range.top),
      lastRow: firstAtLeast(rowNumbers, range.bottom + 1) - 1,
      firstPlace: firstAtLeast(columns, range.left),
      lastPlace: firstAtLeast(columns, range.right + 1) - 1,
    };
    // Skips a range if the row or column of its first cell contains no value. The other cells of a range never have a value.
    if (rowNumbers[span.firstRow] !== range.top || columns[span.firstPlace] !== range.left) continue;
    const width = span.lastPlace - span.firstPlace + 1;
    const cells = (span.lastRow - span.firstRow + 1) * width;
    if (cells < 2) {
      // Only one of the range's cells is in the grid, so no value is repeated.
      spans.push(span);
      continue;
    }
    looked += cells + columns.length;
    if (looked > maxMergedCells) {
      isComplete = false;
      break;
    }
    spans.push(span);
    const text = valuesOf(span.firstRow)[span.firstPlace] ?? '';
    // A merged cell as wide as the table is a line of text, such as a title, so its value is not repeated.
    if (text === '' || (width === columns.length && span.firstRow === span.lastRow)) continue;
    for (let row = span.firstRow; row <= span.lastRow; row += 1) {
      const own = fills.get(row) ?? [];
      fills.set(row, own);
      for (let place = span.firstPlace; place <= span.lastPlace; place += 1) own.push([place, text]);
    }
  }
  return {
    spans,
    isComplete: isComplete && (isSorted || ranges.length === 0),
    filled(row: number, values: string[]): string[] {
      for (const [place, text] of fills.get(row) ?? []) values[place] ||= text;
      return values;
    },
  };
}

function firstAtLeast(sorted: number[], wanted: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

const filledIn = (values: string[]) => values.filter((value) => value !== '');

/** Counts the rows with a single value above a table. */
function titleRows({ rowNumbers, columns, valuesOf }: Grid, spans: Span[]): number {
  const first = Math.min(rowNumbers.length, maxTitles + 1);
  let titles = 0;
  while (titles < first && isTitle(titles)) titles += 1;
  if (titles === 0 || titles > maxTitles || titles >= rowNumbers.length) return 0;
  const isApart = (rowNumbers[titles] ?? 0) > (rowNumbers[titles - 1] ?? 0) + 1;
  return isApart || looksLikeHeader(valuesOf(titles)) ? titles : 0;

  function isTitle(row: number): boolean {
    const values = valuesOf(row);
    if (values[0] === '' || filledIn(values).length !== 1) return false;
    const span = spans.find((each) => each.firstRow === row && each.firstPlace === 0);
    if (span && span.lastRow > row) return false;
    return columns.length > 1 && hasTableBelow(row);
  }

  function hasTableBelow(row: number): boolean {
    for (let below = row + 1; below < Math.min(rowNumbers.length, row + 1 + rowsBelow); below += 1) {
      if (filledIn(valuesOf(below)).length > 1) return true;
    }
    return false;
  }
}

/** Reports whether values look like column names: several texts, none of which is a quantity. A year is allowed. */
export function looksLikeHeader(values: string[]): boolean {
  const shown = filledIn(values);
  return shown.length > 1 && shown.every((value) => !isQuantity(value));
}

const quantity = /^[-+(]?\p{Sc}?\s?\d[\d.,\s]{0,40}\s?[%\p{Sc}]?\)?$/u;
const year = /^(?:19|20)\d\d$/u;

export function isQuantity(value: string): boolean {
  return quantity.test(value) && !year.test(value);
}

/**
 * Returns the last row of the header. A row that names the columns below merged column names continues the header. A row that may be data
 * does not.
 */
function lastHeaderRow({ rowNumbers, columns, valuesOf }: Grid, first: number, spans: Span[]): number {
  let last = first;
  const lastCandidateRow = Math.min(rowNumbers.length - 1, first + longestHeader - 1);
  const inHeader = spans
    .filter(({ firstRow }) => firstRow >= first && firstRow <= lastCandidateRow)
    .slice(0, maxHeaderSpans);
  while (last < lastCandidateRow && isContinued(last)) last += 1;
  return last;

  function isContinued(row: number): boolean {
    const next = valuesOf(row + 1);
    if (filledIn(next).some(isQuantity)) return false;
    const above = inHeader.filter(({ firstRow }) => firstRow <= row);
    const wide = above.filter(
      ({ firstRow, lastRow, firstPlace, lastPlace }) =>
        firstRow <= row && lastRow >= row && lastPlace > firstPlace && lastPlace - firstPlace + 1 < columns.length,
    );
    if (wide.length === 0) return false;
    if (above.some(({ lastRow }) => lastRow > row && lastRow <= lastCandidateRow)) return true;
    const headers = Array.from({ length: row - first + 1 }, (_, at) => valuesOf(first + at));
    let namesMore = false;
    const isComplete = columns.every((_, place) => {
      if (wide.some(({ firstPlace, lastPlace }) => place >= firstPlace && place <= lastPlace)) return true;
      const isNamed = headers.some((values) => values[place] !== '');
      if (!isNamed) namesMore = true;
      return isNamed !== (next[place] !== '');
    });
    // If the next row names a column that has no name yet, such as the one below an empty corner, the next row may be data. It then belongs
    // to the header only if quantities follow below it.
    return isComplete && (!namesMore || hasQuantitiesBelow(row + 1));
  }

  function hasQuantitiesBelow(row: number): boolean {
    for (let below = row + 1; below < Math.min(rowNumbers.length, row + 1 + rowsBelow); below += 1) {
      if (valuesOf(below).some(isQuantity)) return true;
    }
    return false;
  }
}
