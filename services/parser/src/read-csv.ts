import { CsvError, parse } from 'csv-parse/sync';
import { decodeText } from './decode-text.ts';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import { markdownWriter, plainRow, type ReadText, tableHead, tableRow } from './markdown.ts';

const delimiters = [',', ';', '\t', '|'];

const lenient = {
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
};

/** So many characters show which delimiter a file has. */
const sampleCharacters = 65_536;

/** One table, with the first record as its header. */
export function readCsv(bytes: Buffer, { maxCharacters }: ReadLimits): ReadText {
  const { text, delimiter } = sniffed(decodeText(bytes));
  const writer = markdownWriter(maxCharacters);
  const row = /["|]/u.test(text) ? tableRow : plainRow;
  let width = 0;
  const write = (record: string[]): null => {
    if (record.every((cell) => cell === '')) return null;
    if (width === 0) {
      width = record.length;
      writer.append(tableHead(record));
    } else {
      while (record.length < width) record.push('');
      writer.append(row(record));
    }
    return null;
  };
  try {
    parse(text, { delimiter, on_record: write, ...lenient });
  } catch (error) {
    if (error instanceof CsvError && error.code === 'CSV_QUOTE_NOT_CLOSED') {
      throw new FileProblem('unclosedQuote', { cause: error });
    }
    throw error;
  }
  if (width === 0) throw new FileProblem('empty');
  return { text: writer.text(), pageStarts: [] };
}

/** A first line `sep=;`, which Excel understands, names the delimiter. */
function sniffed(text: string): { text: string; delimiter: string } {
  const named = /^sep=(.)\r?\n/u.exec(text);
  if (named?.[1]) return { text: text.slice(named[0].length), delimiter: named[1] };
  return { text, delimiter: delimiterOf(sampleOf(text)) };
}

/** Whole lines, unless the first one is longer than that. */
function sampleOf(text: string): string {
  if (text.length <= sampleCharacters) return text;
  const sample = text.slice(0, sampleCharacters);
  return sample.slice(0, sample.lastIndexOf('\n') + 1) || sample;
}

/** The delimiter that is in most lines equally often; a comma where none is. */
export function delimiterOf(sample: string): string {
  const lines = sample
    .replaceAll(/"(?:[^"]|"")*"/gu, '')
    .split(/\r\n|\n|\r/u)
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
