import { convertToHtml } from 'mammoth';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import {
  emptyCellCharacters,
  heading,
  type MarkdownWriter,
  markdownWriter,
  oneLine,
  plainText,
  type ReadText,
  table,
} from './markdown.ts';
import { openOfficeArchive, storedArchive } from './office-archive.ts';
import { plainXml, withSlashes } from './office-xml.ts';

/** Parts that mammoth reads; not pictures, fonts, macros and embedded files. */
const textParts = /^(?:\[Content_Types\]\.xml|_rels\/.*|word\/.*)(?<=\.xml|\.rels)$/iu;
const otherParts =
  /^word\/(?:theme|media|embeddings|fonts|glossary)\/|^word\/(?:settings|fontTable|webSettings)\.xml$/iu;

/** Headings, lists, tables and notes are kept; pictures and formats are not. */
export async function readDocx(bytes: Buffer, limits: ReadLimits): Promise<ReadText> {
  const archive = await openOfficeArchive(bytes, 'docx', limits);
  const parts = [];
  for (const name of archive.names) {
    if (!textParts.test(name) || otherParts.test(name)) continue;
    const bytes = plainXml(await archive.read(name));
    parts.push({ name, bytes: name.endsWith('.rels') ? withSlashes(bytes) : bytes });
  }
  const buffer = storedArchive(parts);
  let found: DocxDocument | undefined;
  const transformDocument = (document: DocxDocument): DocxDocument => {
    found = document;
    return { ...document, children: [] }; // no HTML is made
  };
  await convertToHtml({ buffer }, { transformDocument, includeDefaultStyleMap: false, includeEmbeddedStyleMap: false });
  if (!found) throw new FileProblem('damaged');
  const writer = markdownWriter(limits.maxCharacters);
  writeDocument(found, writer, 2 * limits.maxCharacters);
  const text = writer.text();
  if (text.trim() === '') throw new FileProblem('empty');
  return { text, pageStarts: [] };
}

/** What mammoth calls the document model: https://github.com/mwilliamson/mammoth.js#document-transforms */
interface DocxNode {
  type: string;
  children?: DocxNode[];
  value?: string;
  styleId?: string | null;
  styleName?: string | null;
  numbering?: { level: string; isOrdered: boolean } | null;
  noteId?: string;
  noteType?: string;
  checked?: boolean;
  colSpan?: number;
  rowSpan?: number;
}

interface DocxDocument extends DocxNode {
  notes: { resolve(reference: DocxNode): { body: DocxNode[] } | null };
}

function writeDocument(document: DocxDocument, writer: MarkdownWriter, maxCharacters: number): void {
  const notes: DocxNode[][] = [];
  const marks = new Map<unknown, string>();
  let cellCharacters = 0;
  const items: { isOrdered: boolean; number: number }[] = []; // the last one of each level
  let inList = false;

  function textOf(node: DocxNode): string {
    switch (node.type) {
      case 'text':
        return node.value ?? '';
      case 'tab':
        return '\t';
      case 'break':
        return '\n';
      case 'checkbox':
        return node.checked ? '[x] ' : '[ ] ';
      case 'noteReference':
        return noteMark(node);
      case 'table':
        return cellsOf(node).flat().join(' ');
      default:
        return (node.children ?? []).map(textOf).join('');
    }
  }

  function noteMark(reference: DocxNode): string {
    const note = document.notes.resolve(reference);
    if (!note) return '';
    const mark = marks.get(note) ?? `[^${notes.push(note.body)}]`;
    marks.set(note, mark);
    return mark;
  }

  /** Merged cells may stand for far more than a file has bytes. */
  function countCells(count: number): void {
    cellCharacters += count * emptyCellCharacters;
    if (cellCharacters > maxCharacters) throw new FileProblem('tooLong');
  }

  /** A merged cell is written once, in its first column and row; the others are empty. */
  function cellsOf(node: DocxNode): string[][] {
    const rows: string[][] = [];
    const covered: number[] = []; // per column, how many more rows are covered from above
    for (const row of node.children ?? []) {
      const cells: string[] = [];
      const skipCovered = () => {
        while ((covered[cells.length] ?? 0) > 0) {
          covered[cells.length] = (covered[cells.length] ?? 0) - 1;
          cells.push('');
        }
      };
      for (const { children = [], colSpan = 1, rowSpan = 1 } of row.children ?? []) {
        skipCovered();
        const columns = Math.min(colSpan, maxColumns);
        countCells(columns);
        for (let column = 0; column < columns; column += 1) {
          covered[cells.length] = rowSpan - 1;
          cells.push(column === 0 ? oneLine(children.map(textOf).join('\n')) : '');
        }
      }
      skipCovered();
      rows.push(cells);
    }
    const width = rows.reduce((widest, { length }) => Math.max(widest, length), 0);
    countCells(rows.length * width);
    for (const row of rows) while (row.length < width) row.push('');
    return rows;
  }

  function writeBlock(node: DocxNode): void {
    if (node.type !== 'paragraph' && node.type !== 'table') {
      for (const child of node.children ?? []) writeBlock(child);
      return;
    }
    const level = headingLevel(node);
    const isItem = level === undefined && node.type === 'paragraph' && node.numbering != null;
    if (inList && !isItem) {
      writer.append('\n');
      items.length = 0;
    }
    inList = isItem;
    if (node.type === 'table') {
      const rows = cellsOf(node);
      if (rows.some((row) => row.some((cell) => cell !== ''))) writer.append(table(rows));
      return;
    }
    const text = textOf(node).trim();
    if (text === '') return;
    if (level !== undefined) writer.append(heading(level, text));
    else if (isItem) writer.append(`${itemMark(node)}${text.replaceAll('\n', ' ')}\n`);
    else writer.append(`${plainText(text)}\n\n`);
  }

  function itemMark({ numbering }: DocxNode): string {
    const level = Math.min(maxListLevel, Number(numbering?.level) || 0);
    const isOrdered = numbering?.isOrdered ?? false;
    const before = items[level];
    const number = before?.isOrdered === isOrdered ? before.number + 1 : 1;
    items.length = level; // a list below starts anew
    items[level] = { isOrdered, number };
    return `${'  '.repeat(level)}${isOrdered ? `${number}.` : '-'} `;
  }

  writeBlock(document);
  if (inList) writer.append('\n');
  for (let index = 0; index < notes.length; index += 1) {
    writer.append(`[^${index + 1}]: ${oneLine((notes[index] ?? []).map(textOf).join(' '))}\n\n`);
  }
}

const maxListLevel = 8;
const maxColumns = 1_000;

function headingLevel({ type, styleId, styleName }: DocxNode): number | undefined {
  if (type !== 'paragraph') return undefined;
  if (styleName === 'Title' || styleId === 'Title') return 1;
  const level = /^heading ?([1-9])$/iu.exec(styleName ?? styleId ?? '')?.[1];
  return level === undefined ? undefined : Number(level);
}
