import { FileProblem, type ReadLimits } from './file-problem.ts';
import { heading, markdownWriter, type ReadText, tableHead, tableRow } from './markdown.ts';
import { openOfficeArchive, type Part } from './office-archive.ts';
import { readXml } from './office-xml.ts';
import { type Book, readBook, richText } from './xlsx-book.ts';
import { cellText } from './xlsx-values.ts';

/** A section with a table for each sheet that is not hidden; formulas show their values, dates are ISO. */
export async function readXlsx(bytes: Buffer, limits: ReadLimits): Promise<ReadText> {
  const archive = await openOfficeArchive(bytes, 'xlsx', limits);
  const book = await readBook(archive);
  const writer = markdownWriter(limits.maxCharacters);
  for (const { name, part } of book.sheets) {
    const cells = sheetCells(2 * limits.maxCharacters);
    await readCells(archive.part(part), book, cells);
    if (cells.characters === 0) continue;
    writer.append(heading(2, name));
    cells.writeTable((text) => writer.append(text));
  }
  const text = writer.text();
  if (text === '') throw new FileProblem('empty');
  return { text, pageStarts: [] };
}

type SheetCells = ReturnType<typeof sheetCells>;

/** The values of a sheet, in few large arrays: an object for each would cost more than reading it. */
function sheetCells(maxCharacters: number) {
  const texts: string[] = [];
  const columns: number[] = [];
  const rowEnds: number[] = [];
  const used = new Set<number>();
  let characters = 0;
  return {
    get characters() {
      return characters;
    },
    add(column: number, text: string): void {
      if (text === '') return;
      texts.push(text);
      columns.push(column);
      used.add(column);
      characters += text.length;
      if (characters > maxCharacters) throw new FileProblem('tooLong');
    },
    endRow(): void {
      if (texts.length > (rowEnds.at(-1) ?? 0)) rowEnds.push(texts.length);
    },
    /** Only of columns that have a value. Row by row, so that a sparse sheet ends at the limit of its text. */
    writeTable(append: (text: string) => void): void {
      const shown = [...used].toSorted((a, b) => a - b);
      const places = new Map(shown.map((column, place) => [column, place]));
      let at = 0;
      for (const end of rowEnds) {
        const row = shown.map(() => '');
        const isHead = at === 0;
        for (; at < end; at += 1) row[places.get(columns[at] ?? 0) ?? 0] = texts[at] ?? '';
        append(isHead ? tableHead(row) : tableRow(row));
      }
      append('\n');
    },
  };
}

async function readCells(part: Part, book: Book, cells: SheetCells): Promise<void> {
  const rich = richText();
  let isData = false;
  let isValue = false;
  let column = 0;
  let type = 'n';
  let styleIndex = 0;
  let raw = '';
  await readXml(part, {
    open(name, { r, t = 'n', s = '0' }) {
      if (name === 'sheetData') isData = true;
      if (!isData) return;
      if (name === 'row') column = 0;
      else if (name === 'c') {
        column = r === undefined ? column + 1 : columnOf(r);
        type = t;
        styleIndex = Number(s);
        raw = '';
      } else if (name === 'v') isValue = true;
      else rich.open(name);
    },
    text(text) {
      if (isValue) raw += text;
      else rich.text(text);
    },
    close(name) {
      if (name === 'sheetData') isData = false;
      if (!isData) return;
      if (name === 'v') isValue = false;
      else if (name === 'c') cells.add(column, cellText({ type, styleIndex, raw: raw + rich.take() }, book).trim());
      else if (name === 'row') cells.endRow();
      else rich.close(name);
    },
  });
}

const maxColumn = 16_384;

/** That of a reference such as `AB12`, counted from 1. */
function columnOf(reference: string): number {
  let column = 0;
  for (let at = 0; at < reference.length; at += 1) {
    const letter = reference.charCodeAt(at) - 64;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
    if (column > maxColumn) throw new FileProblem('damaged');
  }
  if (column === 0) throw new FileProblem('damaged');
  return column;
}
