import { posix } from 'node:path';
import { Readable } from 'node:stream';
import exceljs, { type Cell, type CellValue } from 'exceljs';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import { heading, markdownWriter, type ReadText, tableHead, tableRow } from './markdown.ts';
import { type OfficeArchive, openOfficeArchive, type Part, partOf, storedArchive } from './office-archive.ts';

const workbookPart = 'xl/workbook.xml';
const relationsPart = 'xl/_rels/workbook.xml.rels';

/** A section with a table for each sheet that is not hidden; formulas show their values, dates are ISO. */
export async function readXlsx(bytes: Buffer, limits: ReadLimits): Promise<ReadText> {
  const archive = await openOfficeArchive(bytes, 'xlsx', limits);
  const book = await readBook(archive);
  const input = Readable.from(storedArchive(partsFor(archive, book)));
  const failed = Promise.withResolvers<never>();
  input.on('error', failed.reject); // exceljs pipes it, and a pipe hands no error on
  failed.promise.catch(() => undefined);
  const writer = markdownWriter(limits.maxCharacters);

  async function readSheets(): Promise<void> {
    const options = { worksheets: 'emit', sharedStrings: 'cache', styles: 'cache', hyperlinks: 'ignore' } as const;
    let index = 0;
    for await (const sheet of new exceljs.stream.xlsx.WorkbookReader(input, options)) {
      const cells = sheetCells();
      for await (const row of sheet) {
        row.eachCell((cell, column) => cells.add(column, textOf(cell.value, cell, book.is1904).trim()));
        cells.endRow();
        if (cells.characters > 2 * limits.maxCharacters) throw new FileProblem('tooLong');
      }
      const name = book.sheets[index]?.name ?? '';
      index += 1;
      if (cells.characters === 0) continue;
      writer.append(heading(2, name));
      cells.writeTable((text) => writer.append(text));
    }
  }

  await Promise.race([readSheets(), failed.promise]);
  const text = writer.text();
  if (text === '') throw new FileProblem('empty');
  return { text, pageStarts: [] };
}

/** The values of a sheet, in few large arrays: an object for each would cost more than reading it. */
function sheetCells() {
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

interface Book {
  sheets: { name: string; part: string }[];
  sharedStrings: string | undefined;
  styles: string | undefined;
  is1904: boolean;
}

/** Which parts the sheets are, in their order: exceljs goes by the names of the parts. */
async function readBook(archive: OfficeArchive): Promise<Book> {
  const workbook = (await archive.read(workbookPart)).toString();
  const relations = archive.has(relationsPart) ? (await archive.read(relationsPart)).toString() : '';
  const targets = new Map<string, { type: string; part: string }>();
  for (const { Id = '', Type = '', Target = '', TargetMode } of elementsOf(relations, 'Relationship')) {
    const part = posix.join('/xl', Target.startsWith('/') ? posix.relative('/xl', Target) : Target).slice(1);
    if (TargetMode !== 'External' && archive.has(part)) targets.set(Id, { type: posix.basename(Type), part });
  }
  const partOfType = (wanted: string) => [...targets.values()].find(({ type }) => type === wanted)?.part;
  const sheets = elementsOf(workbook, 'sheet').flatMap((sheet) => {
    const target = targets.get(Object.entries(sheet).find(([name]) => name.endsWith(':id'))?.[1] ?? '');
    const isShown = sheet.state === undefined || sheet.state === 'visible';
    return target?.type === 'worksheet' && isShown ? [{ name: sheet.name ?? '', part: target.part }] : [];
  });
  const [{ date1904 = '0' } = {}] = elementsOf(workbook, 'workbookPr');
  return {
    sheets,
    sharedStrings: partOfType('sharedStrings'),
    styles: partOfType('styles'),
    is1904: ['1', 'true'].includes(date1904),
  };
}

/**
 * What exceljs reads, in an order in which it needs no file to keep sheets in: shared strings before sheets. The sheets get the names that
 * it expects.
 */
function* partsFor(archive: OfficeArchive, book: Book): Generator<Part> {
  yield partOf(relationsPart, '<Relationships/>');
  const date1904 = book.is1904 ? ' date1904="1"' : '';
  yield partOf(workbookPart, `<workbook><workbookPr${date1904}/><sheets/></workbook>`);
  if (book.styles !== undefined) yield { ...archive.part(book.styles), name: 'xl/styles.xml' };
  const strings = 'xl/sharedStrings.xml';
  yield book.sharedStrings === undefined
    ? partOf(strings, '<sst/>')
    : { ...archive.part(book.sharedStrings), name: strings };
  for (const [index, { part }] of book.sheets.entries()) {
    yield { ...archive.part(part), name: `xl/worksheets/sheet${index + 1}.xml` };
  }
}

/** The attributes of each element of a name. For small parts without nested elements of that name. */
function elementsOf(xml: string, name: string): Record<string, string>[] {
  const elements = xml.matchAll(new RegExp(`<(?:[\\w.-]+:)?${name}\\s([^<>]*)>`, 'gu'));
  return Array.from(elements, ([, attributes = '']) =>
    Object.fromEntries(
      Array.from(attributes.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/gu), ([, key, a, b]) => [
        key,
        unescaped(a ?? b ?? ''),
      ]),
    ),
  );
}

const namedEntities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/giu, (whole, hex, decimal, name) => {
    if (name) return namedEntities[name] ?? whole;
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

function textOf(value: CellValue | undefined, cell: Cell, is1904: boolean): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  if (value instanceof Date) return dateText(value);
  if ('richText' in value) return value.richText.map(({ text }) => text).join('');
  if ('error' in value) return String(value.error);
  if ('result' in value || 'formula' in value) {
    const { result } = value;
    if (typeof result === 'number' && isDateFormat(cell.numFmt)) return dateText(dateOf(result, is1904));
    return textOf(result, cell, is1904);
  }
  if ('text' in value) return textOf(value.text, cell, is1904);
  return '';
}

/** As a person sees it: 0.1 + 0.2 is 0.3. */
function numberText(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Number.isFinite(value) ? String(Number(value.toPrecision(15))) : '';
}

const daysTo1970 = 25_569;
const daysFrom1900To1904 = 1_462;
const dayMs = 86_400_000;

function dateOf(days: number, is1904: boolean): Date {
  return new Date(Math.round((days - daysTo1970 + (is1904 ? daysFrom1900To1904 : 0)) * dayMs));
}

/** `2026-01-31`, with a time where it has one; a time alone, which is less than a day, as such. */
function dateText(date: Date): string {
  const ms = Math.round(date.getTime() / 1_000) * 1_000;
  if (Number.isNaN(ms)) return '';
  const iso = new Date(ms).toISOString();
  if (ms < (1 - daysTo1970) * dayMs) return iso.slice(11, 19);
  return ms % dayMs === 0 ? iso.slice(0, -'T00:00:00.000Z'.length) : iso.slice(0, -'.000Z'.length);
}

function isDateFormat(format: string | undefined): boolean {
  return /[ymdhs]/iu.test((format ?? '').replaceAll(/\[[^\]]*\]|"[^"]*"|\\./gu, ''));
}
