import { format as formatNumber } from 'numfmt';
import { FileProblem } from './file-problem.ts';
import type { OfficeArchive } from './office-archive.ts';
import { partOf, readTargets } from './office-relations.ts';
import { readXml } from './office-xml.ts';
import { sharedStringsCounter } from './visible-text.ts';
import { unescaped } from './xlsx-text.ts';

export interface NumberStyle {
  shows: 'number' | 'date' | 'duration';
  /** A format code in Excel's syntax. Undefined: the number is shown unformatted. */
  format?: string;
}

export interface Book {
  /** Visible sheets, in the order of the workbook. */
  sheets: { name: string; part: string }[];
  strings: string[];
  /** Number of characters in each of `strings`, counted independently of the reader. */
  stringCharacters: number[];
  /** The number format of each style. */
  styles: NumberStyle[];
  /** Whether the workbook counts dates from 1904 instead of 1900. */
  is1904: boolean;
}

/** The types of sheets that are read. A chart sheet has a drawing instead of cells. */
const sheetTypes = new Set(['worksheet', 'chartsheet', 'dialogsheet']);

const usualWorkbook = 'xl/workbook.xml';

export async function readBook(archive: OfficeArchive): Promise<Book> {
  const workbook = partOf(await readTargets(archive, ''), 'officeDocument') ?? usualWorkbook;
  const targets = await readTargets(archive, workbook);
  const { listed, is1904 } = await readWorkbook(archive, workbook);
  const sheets = listed.flatMap(({ name, id }) => {
    const target = targets.get(id);
    if (!target) throw new FileProblem('damaged');
    return sheetTypes.has(target.type) ? [{ name, part: target.part }] : [];
  });
  if (new Set(sheets.map(({ part }) => part)).size < sheets.length) throw new FileProblem('damaged');
  return {
    sheets,
    is1904,
    ...(await readStrings(archive, partOf(targets, 'sharedStrings'))),
    styles: await readStyles(archive, partOf(targets, 'styles')),
  };
}

async function readWorkbook(archive: OfficeArchive, part: string) {
  const listed: { name: string; id: string }[] = [];
  let is1904 = false;
  await readXml(archive.part(part), {
    open(element, { name = '', state = 'visible', date1904 = '', ...others }) {
      if (element === 'workbookPr') is1904 = ['1', 'true'].includes(date1904);
      if (element !== 'sheet' || state !== 'visible') return;
      const [, id = ''] = Object.entries(others).find(([attribute]) => attribute.endsWith(':id')) ?? [];
      listed.push({ name, id });
    },
  });
  return { listed, is1904 };
}

async function readStrings(archive: OfficeArchive, part: string | undefined) {
  const strings: string[] = [];
  const counter = sharedStringsCounter();
  if (part === undefined) return { strings, stringCharacters: [] };
  const rich = richText();
  await readXml(
    { ...archive.part(part), counter },
    {
      ...rich,
      close(name) {
        rich.close(name);
        if (name === 'si') strings.push(unescaped(rich.take()));
      },
    },
  );
  return { strings, stringCharacters: counter.counts };
}

/** Joins the text runs of a string. Phonetic runs are omitted, because they repeat the text as it is pronounced. */
export function richText() {
  let taken = '';
  let isText = false;
  let isPhonetic = false;
  return {
    open(name: string): void {
      if (name === 'rPh') isPhonetic = true;
      else if (name === 't') isText = !isPhonetic;
    },
    text(text: string): void {
      if (isText) taken += text;
    },
    close(name: string): void {
      if (name === 't') isText = false;
      else if (name === 'rPh') isPhonetic = false;
    },
    take(): string {
      const text = taken;
      taken = '';
      return text;
    },
  };
}

async function readStyles(archive: OfficeArchive, part: string | undefined): Promise<NumberStyle[]> {
  const styles: NumberStyle[] = [];
  if (part === undefined) return styles;
  const own = new Map<number, NumberStyle>();
  let list = '';
  await readXml(archive.part(part), {
    open(name, { numFmtId = '0', formatCode = '' }) {
      if (name === 'numFmts' || name === 'cellXfs') list = name;
      else if (name === 'numFmt' && list === 'numFmts') own.set(Number(numFmtId), styleOf(formatCode, own.size));
      else if (name === 'xf' && list === 'cellXfs') {
        styles.push(own.get(Number(numFmtId)) ?? builtInStyle(Number(numFmtId)));
      }
    },
    close(name) {
      if (name === list) list = '';
    },
  });
  return styles;
}

const builtInDates = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
] as const;
const builtInDuration = 46;

/** Excel's built-in formats, by number. A file refers to them by number and does not contain them. */
const builtInFormats: Record<number, string> = {
  1: '0',
  2: '0.00',
  3: '#,##0',
  4: '#,##0.00',
  5: '"$"#,##0;("$"#,##0)',
  6: '"$"#,##0;("$"#,##0)',
  7: '"$"#,##0.00;("$"#,##0.00)',
  8: '"$"#,##0.00;("$"#,##0.00)',
  9: '0%',
  10: '0.00%',
  11: '0.00E+00',
  12: '# ?/?',
  13: '# ??/??',
  37: '#,##0;(#,##0)',
  38: '#,##0;(#,##0)',
  39: '#,##0.00;(#,##0.00)',
  40: '#,##0.00;(#,##0.00)',
  41: '#,##0;(#,##0);"-"',
  42: '"$"#,##0;("$"#,##0);"$-"',
  43: '#,##0.00;(#,##0.00);"-"',
  44: '"$"#,##0.00;("$"#,##0.00);"$-"',
  48: '##0.0E+0',
};

function builtInStyle(id: number): NumberStyle {
  if (id === builtInDuration) return { shows: 'duration' };
  if (builtInDates.some(([first, last]) => id >= first && id <= last)) return { shows: 'date' };
  const format = builtInFormats[id];
  return { shows: 'number', ...(format !== undefined && { format }) };
}

/** Maximum number of characters of a format in workbooks written by Excel. */
const maxFormatCharacters = 255;
/** Maximum number of formats in workbooks written by Excel. */
const maxFormats = 5_000;

/**
 * Returns how a format shows numbers. An unclosed bracket or quote hides the rest of the format, so that each character is visited once.
 */
function styleOf(format: string, formatsBefore: number): NumberStyle {
  const shown = format.replaceAll(/"[^"]*"?|[\\_*]./gu, '');
  if (/\[(?:h+|m+|s+)\]/iu.test(shown)) return { shows: 'duration' };
  const bare = shown.replaceAll(/\[[^\]]*\]?/gu, '');
  if (/[ymdhs]/iu.test(bare)) return { shows: 'date' };
  const isPlain =
    /^\s*(?:general|@)?\s*$/iu.test(format) || format.length > maxFormatCharacters || formatsBefore >= maxFormats;
  if (isPlain) return { shows: 'number' };
  // As in Excel, a currency format that names a language uses the separators of the reader's language, so the language is removed.
  const known = format.replaceAll(/\[\$([^\]-]*)-[^\]]*\]/gu, (_, sign: string) => (sign === '' ? '' : `[$${sign}]`));
  return { shows: 'number', ...(isFormat(known) && { format: known }) };
}

function isFormat(format: string): boolean {
  try {
    formatNumber(format, 1, { throws: true });
    return true;
  } catch {
    return false;
  }
}
