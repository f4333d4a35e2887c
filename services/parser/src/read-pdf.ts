import { getDocumentProxy } from 'unpdf';
import { contentKindOf } from './content-kind.ts';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import { heading, markdownWriter, plainText, type ReadText } from './markdown.ts';

/** A line of a page. Sizes are in points. */
interface Line {
  text: string;
  size: number;
  /** From the bottom of the page. */
  y: number;
}

/** One after the other takes a tenth more processor time. */
const pagesAtOnce = 16;

/** Text by page. Lines in a larger type become headings; text is never guessed to be a table. */
export async function readPdf(bytes: Buffer, { maxCharacters, maxPages }: ReadLimits): Promise<ReadText> {
  if (bytes.length === 0) throw new FileProblem('empty');
  const kind = contentKindOf(bytes, 'pdf');
  if (kind !== 'pdf') throw new FileProblem('mislabelled', { found: kind });
  if (isCutOff(bytes)) throw new FileProblem('damaged');
  const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 }).catch(rethrow);
  if (pdf.numPages > maxPages) throw new FileProblem('tooManyPages');
  const pages: Line[][] = [];
  let characters = 0;
  while (pages.length < pdf.numPages) {
    const count = Math.min(pagesAtOnce, pdf.numPages - pages.length);
    const read = await Promise.all(Array.from({ length: count }, (_, index) => linesOn(pages.length + index + 1)));
    for (const { text } of read.flat()) characters += text.length;
    if (characters > 2 * maxCharacters) throw new FileProblem('tooLong');
    pages.push(...read);
  }
  if (pages.length === 0) throw new FileProblem('empty');
  if (characters === 0) throw new FileProblem('noText');
  const writer = markdownWriter(maxCharacters);
  const bodySize = bodySizeOf(pages);
  const pageStarts = pages.map((lines) => {
    const start = writer.length;
    writePage(lines, bodySize, (text) => writer.append(text));
    return start;
  });
  return { text: writer.text(), pageStarts };

  async function linesOn(number: number): Promise<Line[]> {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    return linesOf(items as Item[]);
  }
}

/** pdf.js would read what is left of a file that was cut off, as if it were the whole. */
function isCutOff(bytes: Buffer): boolean {
  return bytes.lastIndexOf('%%EOF') < bytes.lastIndexOf('endobj');
}

function rethrow(error: unknown): never {
  if (error instanceof Error && error.name === 'PasswordException') {
    throw new FileProblem('password', { cause: error });
  }
  throw error;
}

interface Item {
  str?: string;
  hasEOL?: boolean;
  transform?: number[];
}

function linesOf(items: Item[]): Line[] {
  const lines: Line[] = [];
  let line: Line | undefined;
  for (const { str, hasEOL, transform = [] } of items) {
    if (str === undefined) continue; // marks of structure
    const [, , c = 0, d = 0, , y = 0] = transform;
    if (str.trim() !== '') {
      line ??= { text: '', size: 0, y };
      line.size = Math.max(line.size, Math.hypot(c, d));
    }
    if (line) line.text += str;
    if (hasEOL && line) {
      lines.push({ ...line, text: line.text.trim() });
      line = undefined;
    }
  }
  if (line) lines.push({ ...line, text: line.text.trim() });
  return lines;
}

function bodySizeOf(pages: Line[][]): number {
  const characters = new Map<number, number>();
  for (const { size, text } of pages.flat()) {
    const rounded = Math.round(size * 2) / 2;
    characters.set(rounded, (characters.get(rounded) ?? 0) + text.length);
  }
  return [...characters].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 0;
}

/** So much larger than the body is a heading, of the first, second and third level. */
const headingFactors = [1.7, 1.35, 1.15];
const longestHeading = 200;
const paragraphGapLines = 1.6;
const bullet = /^[•◦▪‣●○■∙·–—-]\s+/u;

function writePage(lines: Line[], bodySize: number, append: (text: string) => void): void {
  let previous: Line | undefined;
  const blocks: string[] = [];
  for (const line of lines) {
    const level = headingLevel(line, bodySize);
    const gap = previous ? Math.abs(previous.y - line.y) : 0;
    if (previous && (level !== undefined || gap > paragraphGapLines * Math.max(line.size, previous.size)))
      blocks.push('\n');
    if (level === undefined) blocks.push(`${plainText(line.text).replace(bullet, '- ')}\n`);
    else blocks.push(heading(level, line.text));
    previous = level === undefined ? line : undefined;
  }
  append(`${blocks.join('')}\n`);
}

function headingLevel({ size, text }: Line, bodySize: number): number | undefined {
  if (text.length > longestHeading || !/\p{L}/u.test(text)) return undefined;
  const index = headingFactors.findIndex((factor) => size >= factor * bodySize);
  return index === -1 ? undefined : index + 1;
}
