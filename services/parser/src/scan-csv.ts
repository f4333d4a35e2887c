import { FileProblem } from './file-problem.ts';

export interface Records {
  /** Maximum number of cells in a record. FileProblem `tooLong` if a record has more. */
  maxCells: number;
  write: (record: string[]) => void;
}

/**
 * Reads records several times as fast as csv-parse. Returns false if a quoted cell has no closing quote, or has text after it. csv-parse
 * must then read the file.
 */
export function scanCsv(text: string, delimiter: string, { maxCells, write }: Records): boolean {
  const placeOf = (what: string, from: number) => {
    const place = text.indexOf(what, from);
    return place === -1 ? text.length : place;
  };
  let record: string[] = [];
  let nextDelimiter = -1;
  let nextBreak = -1;
  for (let at = 0; at <= text.length; at += 1) {
    if (text[at] === '"') {
      const end = closingQuote(text, at + 1);
      if (end === -1) return false;
      record.push(text.slice(at + 1, end).replaceAll('""', '"'));
      at = end + 1;
    } else {
      if (nextDelimiter < at) nextDelimiter = placeOf(delimiter, at);
      if (nextBreak < at) nextBreak = placeOf('\n', at);
      const end = Math.min(nextDelimiter, nextBreak);
      record.push(text.slice(at, end));
      at = end;
    }
    if (record.length > maxCells) throw new FileProblem('tooLong');
    if (text[at] === delimiter) continue;
    if (at < text.length && text[at] !== '\n') return false;
    write(record);
    record = [];
  }
  return true;
}

function closingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end;
}
