import { CsvError, parse } from 'csv-parse/sync';
import { utf8Of } from './decode-text.ts';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import {
  emptyCellCharacters,
  markdownWriter,
  oneLine,
  plainText,
  type ReadText,
  tableHead,
  tableRow,
  withLineFeeds,
} from './markdown.ts';
import { scanCsv } from './scan-csv.ts';
import { isQuantity, looksLikeHeader } from './sheet-table.ts';

const delimiters = [',', ';', '\t', '|'];

const lenient = {
  record_delimiter: '\n',
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
};

const sampleCharacters = 65_536;
/** Maximum number of title lines, which have one value each. If more lines have one value, the file is a table with one column. */
const maxTitles = 20;
/** Minimum number of characters of a batch of rows. Each write first checks the text that it adds, so one write per row would be slow. */
const batchCharacters = 65_536;

/** Number of records, from the first, in which the header is searched. */
const maxHeld = 40;

/** Converts a CSV file to one table. Lines before the header, such as a title, are kept as text. */
export function readCsv(bytes: Buffer, { maxCharacters }: ReadLimits): ReadText {
  const { text, delimiter } = sniffed(withLineFeeds(utf8Of(bytes).toString()));
  const scanned = tableWriter(maxCharacters);
  const table = scanCsv(text, delimiter, { maxCells: Math.ceil((2 * maxCharacters) / emptyCellCharacters), ...scanned })
    ? scanned
    : parsed(text, delimiter, tableWriter(maxCharacters));
  return { text: table.text(), pageStarts: [] };
}

function parsed(text: string, delimiter: string, table: TableWriter): TableWriter {
  try {
    parse(text, { delimiter, ...lenient, on_record: (record: string[]) => table.write(record) ?? null });
    return table;
  } catch (error) {
    if (error instanceof CsvError && error.code === 'CSV_QUOTE_NOT_CLOSED') {
      throw new FileProblem('unclosedQuote', { cause: error });
    }
    throw error;
  }
}

type TableWriter = ReturnType<typeof tableWriter>;

function tableWriter(maxCharacters: number) {
  const writer = markdownWriter(maxCharacters);
  let width = 0;
  let batch = '';
  /** The first records, kept until the header is found. */
  const held: string[][] = [];
  let isHeld = true;

  function writeRow(record: string[]): void {
    while (record.length < width) record.push('');
    batch += width === 0 ? tableHead(record) : tableRow(record);
    width ||= record.length;
    if (batch.length < batchCharacters) return;
    writer.append(batch);
    batch = '';
  }

  function endHeld(): void {
    isHeld = false;
    const first = headerAmong(held);
    for (const [at, record] of held.entries()) {
      if (at < first) batch += `${plainText(oneLine(lineOf(record)))}\n\n`;
      else writeRow(record);
    }
    held.length = 0;
  }

  return {
    write(record: string[]): void {
      if (isBlank(record[0] ?? '') && record.every(isBlank)) return;
      if (isHeld) {
        held.push([...record]);
        if (held.length >= maxHeld) endHeld();
        return;
      }
      writeRow(record);
    },
    text(): string {
      if (isHeld) endHeld();
      if (width === 0) throw new FileProblem('empty');
      writer.append(batch);
      return writer.text();
    },
  };
}

/**
 * Formats a record above the table. Two values are a name and its value: `Account: DE12`. Otherwise the values are the words of a title.
 */
function lineOf(record: string[]): string {
  const [name = '', ...values] = record.map((cell) => cell.trim()).filter((cell) => cell !== '');
  return values.length === 1 ? `${name.replace(/:$/u, '')}: ${values[0]}` : [name, ...values].join(' ');
}

/** Returns the index of the header among the first records. Earlier records are lines of a title, or names with their values. */
function headerAmong(records: string[][]): number {
  const widths = records.map((record) => record.findLastIndex((cell) => !isBlank(cell)) + 1);
  const titles = widths.findIndex((width, at) => width !== 1 || isBlank(records[at]?.[0] ?? ''));
  const afterTitles = titles > 0 && titles <= maxTitles && isHeader(records[titles]) ? titles : 0;
  const widest = Math.max(...widths.filter((width, at) => width === widths[at - 1]), 0);
  const first = widths.findIndex((width, at) => width === widest && widths[at + 1] === widest);
  if (widest <= 2 || first <= 0 || first > maxTitles || widths.slice(0, first).some((width) => width > 2))
    return afterTitles;
  // The widest record is the header only if it names each column and if a record with quantities, which is data, follows.
  const hasQuantities = records.slice(first + 1).some((record) => record.some((cell) => isQuantity(cell.trim())));
  const isFull = records[first]?.slice(0, widest).every((cell) => !isBlank(cell));
  return isFull && isHeader(records[first]) && hasQuantities ? first : afterTitles;
}

function isHeader(record: string[] = []): boolean {
  return looksLikeHeader(record.map((cell) => cell.trim()));
}

function isBlank(cell: string): boolean {
  return cell === '' || cell.trim() === '';
}

/** Finds the delimiter. A first line `sep=;`, which Excel understands, names it. */
function sniffed(text: string): { text: string; delimiter: string } {
  const named = /^sep=([\x20-\x7e\t])\n/u.exec(text);
  if (named?.[1]) return { text: text.slice(named[0].length), delimiter: named[1] };
  const sample = text.slice(0, sampleCharacters);
  // The sample ends with a whole line, unless the first line is longer than the sample.
  const cut = text.length > sampleCharacters ? sample.lastIndexOf('\n') + 1 : sample.length;
  return { text, delimiter: delimiterOf(sample.slice(0, cut) || sample) };
}

/** Returns the delimiter that occurs equally often in most lines; a comma if no delimiter does. */
export function delimiterOf(sample: string): string {
  const lines = sample
    .replaceAll(/"(?:[^"]|"")*"/gu, '')
    .split('\n')
    .filter((line) => line !== '');
  const scores = delimiters.map((delimiter) => {
    const counts = new Map<number, number>();
    for (const line of lines) {
      const times = line.split(delimiter).length - 1;
      if (times > 0) counts.set(times, (counts.get(times) ?? 0) + 1);
    }
    const [times, found] = [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? [0, 0];
    return { delimiter, found, times };
  });
  const best = scores.toSorted((a, b) => b.found - a.found || b.times - a.times)[0];
  return best && best.found > 0 ? best.delimiter : ',';
}
