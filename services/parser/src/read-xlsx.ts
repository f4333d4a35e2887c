import { readChart } from './docx-chart.ts';
import { type Block, blockText, readStory } from './docx-content.ts';
import { type DocxStyles, readStyles } from './docx-styles.ts';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import { counted, type Loss, lostValues } from './losses.ts';
import { heading, type MarkdownWriter, markdownWriter, plainText, type ReadText } from './markdown.ts';
import { type OfficeArchive, openOfficeArchive } from './office-archive.ts';
import { partOf, readTargets } from './office-relations.ts';
import type { Part } from './office-xml.ts';
import { readXml } from './office-xml.ts';
import { type MergedRange, maxMergedCells, writeSheetTable } from './sheet-table.ts';
import { countTexts, sheetCounter, traceCharacters, visibleCharacters } from './visible-text.ts';
import { type Book, readBook, richText } from './xlsx-book.ts';
import { cellText } from './xlsx-values.ts';

/**
 * Reads a workbook. Each visible sheet becomes a section with a table. Numbers are written as displayed, formulas as their values, and
 * dates in ISO format.
 */
export async function readXlsx(bytes: Buffer, limits: ReadLimits): Promise<ReadText> {
  const opened = await openOfficeArchive(bytes, 'xlsx', limits);
  const counts = countTexts(opened);
  const { archive } = counts;
  const book = await readBook(opened);
  const writer = markdownWriter(limits.maxCharacters);
  const about = { styles: await readStyles(undefined), maxCharacters: 2 * limits.maxCharacters };
  const lost = { characters: 0, missing: 0, comments: 0, charts: 0, merges: false };
  for (const { name, part } of book.sheets) {
    const cells = sheetCells(about.maxCharacters);
    const counter = sheetCounter(book.stringCharacters);
    await readCells({ ...opened.part(part), counter }, book, cells);
    const beside = await readBeside(archive, part, about);
    lost.comments += beside.comments;
    lost.charts += beside.chartsWithoutValues;
    const drawn = beside.blocks.reduce((sum, { characters }) => sum + characters, 0);
    lost.missing += counter.count.characters + (await counts.drawnOn(part)) - cells.stringCharacters - drawn;
    if (cells.characters === 0 && beside.blocks.length === 0) continue;
    writer.append(heading(2, name));
    if (cells.characters > 0) lost.merges ||= !cells.writeTable(writer);
    lost.characters += cells.overwritten;
    for (const block of beside.blocks) writer.append(`${plainText(blockText(block))}\n\n`);
  }
  const text = writer.text();
  if (text === '') throw new FileProblem('empty');
  const losses = lossesOf(lost);
  return { text, pageStarts: [], ...(losses.length > 0 && { losses }) };
}

interface Lost {
  /** Number of characters in cells that were replaced by a later cell at the same position. */
  characters: number;
  /** Number of visible characters of the file that were not read, counted independently of the reader. */
  missing: number;
  comments: number;
  /** Number of charts whose values are not in the file. */
  charts: number;
  merges: boolean;
}

function lossesOf({ characters, missing, comments, charts, merges }: Lost): Loss[] {
  const losses: Loss[] = [];
  if (missing > traceCharacters)
    losses.push({ kind: 'characters', what: `${counted(missing, 'character')} of the workbook could not be read` });
  losses.push(...lostValues(charts));
  if (characters > 0)
    losses.push({
      kind: 'characters',
      what: `${counted(characters, 'character')} of cells with the same place not read`,
    });
  if (comments > 0) losses.push({ kind: 'comments', what: `${counted(comments, 'comment')} not read` });
  if (merges) {
    const max = maxMergedCells.toLocaleString('en-US');
    losses.push({ kind: 'repeatedValues', what: `more than ${max} merged cells: not all repeat their value` });
  }
  return losses;
}

interface About {
  styles: DocxStyles;
  maxCharacters: number;
}

/** Reads the texts drawn on a sheet, including its charts, and counts its comments. */
async function readBeside(archive: OfficeArchive, sheet: string, about: About) {
  const blocks: Block[] = [];
  let comments = 0;
  let chartsWithoutValues = 0;
  const write = (block: Block) => blocks.push(block);
  const targets = await readTargets(archive, sheet);
  const drawing = partOf(targets, 'drawing');
  if (drawing !== undefined) {
    await readStory(archive.part(drawing), { ...about, write });
    for (const { type, part } of (await readTargets(archive, drawing)).values()) {
      if (type === 'diagramData') await readStory(archive.part(part), { ...about, write });
      if (type !== 'chart') continue;
      const chart = await readChart(archive.part(part), about.maxCharacters);
      if (chart.isWithoutValues) chartsWithoutValues += 1;
      blocks.push(...chart.blocks);
      const shapes = partOf(await readTargets(archive, part), 'chartUserShapes');
      if (shapes !== undefined) await readStory(archive.part(shapes), { ...about, write });
    }
  }
  const remarks = partOf(targets, 'comments');
  if (remarks !== undefined) {
    const open = (name: string) => {
      if (name === 'comment') comments += 1;
    };
    await readXml(archive.part(remarks), { open });
  }
  return { blocks, comments, chartsWithoutValues };
}

type SheetCells = ReturnType<typeof sheetCells>;

/** Maximum number of ranges of merged cells that are kept. */
const maxRanges = 100_000;

/** Collects the values of a sheet in a few large arrays. An object for each value would cost more than reading it. */
function sheetCells(maxCharacters: number) {
  const texts: string[] = [];
  const columns: number[] = [];
  const rowEnds: number[] = [];
  const rowNumbers: number[] = [];
  const used = new Set<number>();
  const ranges: MergedRange[] = [];
  let characters = 0;
  let overwritten = 0;
  let stringCharacters = 0;
  let hasAllRanges = true;

  let rowStart = 0;
  /** Index of the last cell in each column of the current row. Set only if the columns of the row are not ascending. */
  let unordered: Map<number, number> | undefined;

  function countOverwritten(column: number): void {
    if (columns.length === rowStart || (!unordered && column > (columns.at(-1) ?? 0))) return;
    unordered ??= new Map(columns.slice(rowStart).map((each, at) => [each, rowStart + at]));
    const before = unordered.get(column);
    if (before !== undefined) overwritten += texts[before]?.length ?? 0;
    unordered.set(column, columns.length);
  }

  return {
    get characters() {
      return characters;
    },
    /** Number of characters in cells that were replaced by a later cell at the same position. */
    get overwritten() {
      return overwritten;
    },
    /** Number of visible characters in cells that hold text. */
    get stringCharacters() {
      return stringCharacters;
    },
    add(column: number, text: string, isString: boolean): void {
      if (text === '') return;
      if (isString) stringCharacters += visibleCharacters(text);
      countOverwritten(column);
      texts.push(text);
      columns.push(column);
      used.add(column);
      characters += text.length;
      if (characters > maxCharacters) throw new FileProblem('tooLong');
    },
    endRow(number: number): void {
      if (texts.length === rowStart) return;
      rowStart = texts.length;
      unordered = undefined;
      rowEnds.push(rowStart);
      rowNumbers.push(number);
    },
    addRange(range: MergedRange): void {
      if (ranges.length < maxRanges) ranges.push(range);
      else hasAllRanges = false;
    },
    /** Writes the columns that have a value. @returns false if there are too many merged cells to repeat the value in all of them */
    writeTable(writer: MarkdownWriter): boolean {
      const shown = [...used].toSorted((a, b) => a - b);
      const places = new Map(shown.map((column, place) => [column, place]));
      const valuesOf = (row: number) => {
        const values = shown.map(() => '');
        const end = rowEnds[row] ?? 0;
        for (let at = rowEnds[row - 1] ?? 0; at < end; at += 1) {
          values[places.get(columns[at] ?? 0) ?? 0] = texts[at] ?? '';
        }
        return values;
      };
      return writeSheetTable({ rowNumbers, columns: shown, valuesOf }, ranges, writer) && hasAllRanges;
    },
  };
}

const stringTypes = new Set(['s', 'inlineStr', 'str']);

async function readCells(part: Part, book: Book, cells: SheetCells): Promise<void> {
  const rich = richText();
  let isData = false;
  let isValue = false;
  let row = 0;
  let column = 0;
  let type = 'n';
  let styleIndex = 0;
  let raw = '';
  await readXml(part, {
    open(name, { r, ref, t = 'n', s = '0' }) {
      if (name === 'sheetData') isData = true;
      else if (name === 'mergeCell' && ref !== undefined) addRange(ref, cells);
      if (!isData) return;
      if (name === 'row') {
        column = 0;
        row = Number(r) > 0 ? Number(r) : row + 1;
      } else if (name === 'c') {
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
      else if (name === 'c') {
        const text = cellText({ type, styleIndex, raw: raw + rich.take() }, book).trim();
        cells.add(column, text, stringTypes.has(type));
      } else if (name === 'row') cells.endRow(row);
      else rich.close(name);
    },
  });
}

/** Adds a merged range such as `A1:B2`. Other references are ignored. */
function addRange(reference: string, cells: SheetCells): void {
  const [, left = '', top, right = '', bottom] =
    /^\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})$/u.exec(reference) ?? [];
  if (left === '') return;
  cells.addRange({ top: Number(top), left: columnOf(left), bottom: Number(bottom), right: columnOf(right) });
}

const maxColumn = 16_384;

/** Returns the column of a reference such as `AB12`, from 1. */
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
