import { FileProblem } from './file-problem.ts';
import type { OfficeArchive } from './office-archive.ts';
import { partOf, readTargets } from './office-relations.ts';
import { readXml } from './office-xml.ts';

export type NumberStyle = 'number' | 'date' | 'duration';

export interface Book {
  /** Those that are shown, in their order. */
  sheets: { name: string; part: string }[];
  strings: string[];
  /** What each style shows a number as. */
  styles: NumberStyle[];
  /** Its days count from 1904. */
  is1904: boolean;
}

const usualWorkbook = 'xl/workbook.xml';

export async function readBook(archive: OfficeArchive): Promise<Book> {
  const workbook = partOf(await readTargets(archive, ''), 'officeDocument') ?? usualWorkbook;
  const targets = await readTargets(archive, workbook);
  const { listed, is1904 } = await readWorkbook(archive, workbook);
  const sheets = listed.flatMap(({ name, id }) => {
    const target = targets.get(id);
    if (!target) throw new FileProblem('damaged');
    return target.type === 'worksheet' ? [{ name, part: target.part }] : [];
  });
  if (new Set(sheets.map(({ part }) => part)).size < sheets.length) throw new FileProblem('damaged');
  return {
    sheets,
    is1904,
    strings: await readStrings(archive, partOf(targets, 'sharedStrings')),
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

async function readStrings(archive: OfficeArchive, part: string | undefined): Promise<string[]> {
  const strings: string[] = [];
  if (part === undefined) return strings;
  const rich = richText();
  await readXml(archive.part(part), {
    ...rich,
    close(name) {
      rich.close(name);
      if (name === 'si') strings.push(unescaped(rich.take()));
    },
  });
  return strings;
}

/** A text writes what XML has no character for, such as a carriage return, as `_x000D_`. */
export function unescaped(text: string): string {
  return text.replaceAll(/_x([\da-f]{4})_/giu, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Joins the runs of a string, without its phonetic ones, which repeat the text as it is pronounced. */
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
      else if (name === 'numFmt' && list === 'numFmts') own.set(Number(numFmtId), styleOf(formatCode));
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

function builtInStyle(id: number): NumberStyle {
  if (id === builtInDuration) return 'duration';
  return builtInDates.some(([first, last]) => id >= first && id <= last) ? 'date' : 'number';
}

/** A bracket or quote without an end hides the rest, so that each character is looked at once. */
function styleOf(format: string): NumberStyle {
  const shown = format.replaceAll(/"[^"]*"?|[\\_*]./gu, '');
  if (/\[(?:h+|m+|s+)\]/iu.test(shown)) return 'duration';
  return /[ymdhs]/iu.test(shown.replaceAll(/\[[^\]]*\]?/gu, '')) ? 'date' : 'number';
}
