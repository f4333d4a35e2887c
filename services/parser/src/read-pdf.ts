import { fileURLToPath } from 'node:url';
import { getDocumentProxy, getResolvedPDFJS } from 'unpdf';
import { contentKindOf } from './content-kind.ts';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import type { Loss } from './losses.ts';
import { markdownWriter, type ReadText } from './markdown.ts';
import { type Line, linesOf } from './pdf-columns.ts';
import { type Annotation, fieldsOf, withFields } from './pdf-fields.ts';
import { hasName } from './pdf-names.ts';
import { writerOfPages } from './pdf-pages.ts';
import { isMostlyPicture, type PdfPage, type Picture, pictureOn } from './pdf-pictures.ts';
import { rowsOf, type TextItem } from './pdf-rows.ts';
import { readableSigns } from './pdf-signs.ts';
import { countingGivenUp, type GivenUp } from './pdf-warnings.ts';

interface Page {
  lines: Line[];
  /** Number of glyphs that no font maps to a character. */
  unknown: number;
  /** What is visible on a page without text, or with a scan and a few words of text. Undefined for other pages. */
  picture: Picture | undefined;
}

/** A page whose text has at most this many characters may be a scan with a stamp, a page number or a fax header. */
const fewCharacters = 100;
/** How many pages are read at once; reading one by one takes a tenth more processor time. */
const pagesAtOnce = 16;

/** Reads a PDF's text by page. Lines in a larger font become headings. Tables are not recognized. */
export function readPdf(bytes: Buffer, limits: ReadLimits): Promise<ReadText> {
  return countingGivenUp((givenUp) => readPages(bytes, limits, givenUp));
}

async function readPages(bytes: Buffer, { maxCharacters, maxPages }: ReadLimits, givenUp: GivenUp): Promise<ReadText> {
  if (bytes.length === 0) throw new FileProblem('empty');
  const kind = contentKindOf(bytes, 'pdf');
  if (kind !== 'pdf') throw new FileProblem('mislabelled', { found: kind });
  if (isCutOff(bytes)) throw new FileProblem('damaged');
  const { OPS } = await getResolvedPDFJS();
  const pdf = await getDocumentProxy(new Uint8Array(bytes), options).catch(rethrow);
  if (pdf.numPages > maxPages) throw new FileProblem('tooManyPages');
  // Annotations are read only if the file has form fields, because reading them takes a quarter of the time of a page with many links.
  const hasFields = ['/Widget', '/FreeText'].some((name) => hasName(bytes, name));
  const pages: Page[] = [];
  let characters = 0;
  while (pages.length < pdf.numPages) {
    const count = Math.min(pagesAtOnce, pdf.numPages - pages.length);
    const read = await Promise.all(Array.from({ length: count }, (_, index) => readPage(pages.length + index + 1)));
    for (const { lines } of read) for (const { text } of lines) characters += text.length;
    if (characters > 2 * maxCharacters) throw new FileProblem('tooLong');
    pages.push(...read);
  }
  if (pages.length === 0) throw new FileProblem('empty');
  if (characters === 0) throw new FileProblem(whyWithoutText(pages));
  const writer = markdownWriter(maxCharacters);
  const write = writerOfPages(pages.map(({ lines }) => lines));
  const pageStarts = pages.map(({ lines }) => {
    const start = writer.length;
    writer.append(write(lines));
    return start;
  });
  return { text: writer.text(), pageStarts, losses: lossesOf(pages, givenUp) };

  async function readPage(number: number): Promise<Page> {
    const page = await pdf.getPage(number);
    const { items, styles } = await page.getTextContent();
    const { items: readable, unknown } = readableSigns(items as TextItem[]);
    const rows = rowsOf(readable, (fontName) => styles[fontName]?.vertical === true);
    const fields = hasFields ? fieldsOf((await page.getAnnotations()) as Annotation[]) : [];
    const lines = linesOf(fields.length === 0 ? rows : withFields(rows, fields)).filter(({ text }) => text !== '');
    const picture = await pictureBeside(lines, unknown, page);
    page.cleanup();
    return { lines, unknown, picture };
  }

  async function pictureBeside(lines: Line[], unknown: number, page: PdfPage): Promise<Picture | undefined> {
    if (lines.length === 0) return unknown > 0 ? 'unreadable' : pictureOn(page, OPS);
    const length = lines.reduce((sum, { text }) => sum + text.length, 0);
    return length <= fewCharacters && (await isMostlyPicture(page, OPS)) ? 'stamped' : undefined;
  }
}

/** Options of pdf.js. `cMapUrl` is the folder with the character maps of Chinese, Japanese and Korean font encodings. */
const options = {
  // Warnings are enabled, because they are counted.
  verbosity: 1,
  cMapUrl: fileURLToPath(new URL('./cmaps/', import.meta.resolve('pdfjs-dist/package.json'))),
  cMapPacked: true,
  useWorkerFetch: false,
  // The standard fonts are not loaded, because nothing is drawn.
  standardFontDataUrl: undefined,
  // With this maximum size, no picture is decoded.
  maxImageSize: 0,
};

/** Reports whether a file was truncated. pdf.js would read the remaining part as if it were the whole file. */
function isCutOff(bytes: Buffer): boolean {
  return bytes.lastIndexOf('%%EOF') < bytes.lastIndexOf('endobj');
}

function rethrow(error: unknown): never {
  if (error instanceof Error && error.name === 'PasswordException') {
    throw new FileProblem('password', { cause: error });
  }
  throw error;
}

function whyWithoutText(pages: Page[]): 'noText' | 'unknownSigns' | 'blank' {
  const shows = (picture: Picture) => pages.some((page) => page.picture === picture);
  if (shows('unreadable')) return 'unknownSigns';
  return shows('scanned') ? 'noText' : 'blank';
}

function lossesOf(pages: Page[], givenUp: GivenUp): Loss[] {
  const losses: Loss[] = [];
  const without = (picture: Picture) => pages.filter((page) => page.picture === picture).length;
  const all = pages.length === 1 ? 'page' : 'pages';
  const add = (count: number, what: string) => {
    const verb = count === 1 ? 'has' : 'have';
    if (count > 0) losses.push({ kind: 'scannedPages', what: `${count} of ${pages.length} ${all} ${verb} ${what}` });
  };
  add(without('scanned'), 'no text: scanned');
  add(without('drawn'), 'no text: drawn');
  add(without('stamped'), 'hardly any text: scanned');
  const unknown = pages.reduce((sum, page) => sum + page.unknown, 0);
  if (unknown > 0) {
    const on = pages.filter((page) => page.unknown > 0).length;
    const signs = unknown === 1 ? '1 sign' : `${unknown} signs`;
    const are =
      unknown === 1
        ? 'is left out: its font does not say which character it is'
        : 'are left out: their fonts do not say which characters they are';
    losses.push({ kind: 'unknownSigns', what: `${signs} on ${on} of ${pages.length} ${all} ${are}` });
  }
  const { fonts, pages: cut } = givenUp;
  if (fonts > 0)
    losses.push({
      kind: 'unknownSigns',
      what: `text is left out: ${fonts} ${fonts === 1 ? 'font' : 'fonts'} of the file cannot be read`,
    });
  if (cut > 0)
    losses.push({ kind: 'characters', what: `text is left out: parts of the pages are damaged in ${cut} places` });
  return losses;
}
