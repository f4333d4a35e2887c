import { FileProblem } from './file-problem.ts';
import type { Loss } from './losses.ts';

export interface ReadText {
  text: string;
  /** The offset at which each page begins, in UTF-16 code units; empty for a file without pages. */
  pageStarts: number[];
  /** Content of the file that is missing in the text. Default: none. */
  losses?: Loss[];
}

export type MarkdownWriter = ReturnType<typeof markdownWriter>;

/**
 * Joins parts of a text. Throws FileProblem `tooLong` soon after the text exceeds the limit, so that an endless file does not fill memory.
 */
export function markdownWriter(maxCharacters: number) {
  const parts: string[] = [];
  let length = 0;
  return {
    /** Length of the text so far, in UTF-16 code units. */
    get length() {
      return length;
    },
    append(text: string): void {
      const clean = storable(text);
      length += clean.length;
      // The length in code units is at most twice the number of characters.
      if (length > 2 * maxCharacters) throw new FileProblem('tooLong');
      parts.push(clean);
    },
    text(): string {
      const text = parts.join('');
      if (text.length > maxCharacters && charactersOf(text) > maxCharacters) throw new FileProblem('tooLong');
      return text;
    },
  };
}

/**
 * Removes soft hyphens, which hide words from a search, and control characters and lone surrogates, which no stored
 * text may contain.
 */
function storable(text: string): string {
  return (controls.test(text) ? text.replaceAll(allControls, '') : text).toWellFormed();
}

const controls = /[[\p{Cc}--[\t\n]]\u00ad\ufffe\uffff]/v;
const allControls = new RegExp(controls, 'gv');

export function charactersOf(text: string): number {
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters;
}

export function withLineFeeds(text: string): string {
  return text.includes('\r') ? text.replaceAll(/\r\n?/gu, '\n') : text;
}

export function heading(level: number, text: string): string {
  return `${'#'.repeat(Math.min(6, level))} ${oneLine(text)}\n\n`;
}

/** Formats a table. The first row is the header, and other rows are padded to its width. */
export function table(rows: readonly string[][]): string {
  return `${tableHead(rows[0] ?? [])}${rows.slice(1).map(tableRow).join('')}\n`;
}

export const emptyCellCharacters = 3;

export function tableHead(cells: string[]): string {
  return `${tableRow(cells)}|${' --- |'.repeat(cells.length)}\n`;
}

export function tableRow(cells: string[]): string {
  return `| ${cells.map(cellText).join(' | ')} |\n`;
}

function cellText(text: string): string {
  return /[|\r\n]/u.test(text) ? oneLine(text).replaceAll('|', '\\|') : text;
}

export function oneLine(text: string): string {
  if (!/[\r\n]/u.test(text)) return text.trim();
  const lines = text.split(/[\r\n]+/u).map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

/** Escapes a paragraph so that none of its lines looks like a heading, an underline or a table row. */
export function plainText(text: string): string {
  return text.replaceAll(/^([ \t]{0,3})(#{1,6}(?=[ \t]|$)|\||(?:={2,}|-{3,})[ \t]*$)/gmu, '$1\\$2');
}
