import { deflateSync } from 'node:zlib';
import type { Problem, ReadLimits } from '../src/file-problem.ts';
import type { FileType } from '../src/file-types.ts';
import {
  docxEntries,
  makeDocx,
  makePage,
  makePdf,
  makeXlsx,
  paragraph,
  pdfOf,
  streamOf,
  textCell,
  xlsxEntries,
} from './make-documents.ts';
import { makeZip, type ZipEntry } from './make-zip.ts';

/** A hostile or broken file. */
export interface Bomb {
  what: string;
  type: FileType;
  make: () => Buffer;
  problem: Problem;
  /** Limits below the defaults, so that the test is quick. */
  limits?: Partial<ReadLimits>;
}

const megabyte = 2 ** 20;

/** Returns a Word document with `part` as its main part, and with the parts `more`. */
const docxWith = (part: Omit<ZipEntry, 'name'>, more: ZipEntry[] = []) =>
  makeZip([
    ...docxEntries('').filter(({ name }) => name !== 'word/document.xml'),
    { name: 'word/document.xml', ...part },
    ...more,
  ]);

const laughs = `<!DOCTYPE x [<!ENTITY a "${'ha'.repeat(50)}">${'bcdefghij'
  .split('')
  .map((name, index) => `<!ENTITY ${name} "${`&${'abcdefghij'[index]};`.repeat(10)}">`)
  .join('')}]>`;
const reads = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>';

const page = (content: Buffer | string, rest = '') =>
  pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R ${rest} >>`,
    content,
  ]);
/** Returns a PDF with one page, whose text has a font with this encoding. */
const withFont = (encoding: string) =>
  makePage('BT /F1 12 Tf 72 700 Td <00410042> Tj ET', {
    entries: '/Resources << /Font << /F1 5 0 R >> >>',
    others: [
      '<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding 7 0 R /DescendantFonts [6 0 R] >>',
      '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 500 /FontDescriptor 8 0 R >>',
      streamOf(
        `begincmap /CMapName /U def\n1 begincodespacerange <00000000> <ffffffff> endcodespacerange\n${encoding}\nendcmap`,
        '/Type /CMap /CMapName /U',
      ),
      '<< /Type /FontDescriptor /FontName /Any /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
    ],
  });
const manyBlanks = (megabytes: number) => deflateSync(Buffer.alloc(megabytes * megabyte, ' '));

/** Creates a small PDF whose content unpacks to 400 MB of blanks. Reading it would take endless memory and time. */
export const makePackedBlanks = () =>
  page(streamOf(deflateSync(manyBlanks(400)), '/Filter [/FlateDecode /FlateDecode]'));

export const bombs: Bomb[] = [
  {
    what: 'a workbook that declares to be larger than the limit',
    type: 'xlsx',
    make: () => makeXlsx([['a', ' '.repeat(20 * megabyte)]]),
    problem: 'tooLargeUnpacked',
    limits: { maxInflatedBytes: 10 * megabyte },
  },
  {
    what: 'a picture that declares to be larger than the limit',
    type: 'docx',
    make: () =>
      makeZip([...docxEntries(paragraph('a')), { name: 'word/media/a.png', content: ' '.repeat(20 * megabyte) }]),
    problem: 'tooLargeUnpacked',
    limits: { maxInflatedBytes: 10 * megabyte },
  },
  {
    what: 'parts that together are larger than the limit',
    type: 'docx',
    make: () =>
      makeZip([
        ...docxEntries(paragraph('a')),
        ...[1, 2, 3].map((n) => ({ name: `word/header${n}.xml`, content: ' '.repeat(4 * megabyte) })),
      ]),
    problem: 'tooLargeUnpacked',
    limits: { maxInflatedBytes: 10 * megabyte },
  },
  {
    what: 'a part that is larger than it declares',
    type: 'docx',
    make: () => docxWith({ content: ' '.repeat(200 * megabyte), declaredSize: 1_000 }),
    problem: 'invalidArchive',
  },
  {
    what: 'a part that is smaller than it declares',
    type: 'xlsx',
    make: () =>
      makeZip(
        xlsxEntries([['a', '']]).map((entry) =>
          entry.name.includes('sheet1') ? { ...entry, declaredSize: 10 * megabyte } : entry,
        ),
      ),
    problem: 'invalidArchive',
  },
  {
    what: 'parts that overlap',
    type: 'docx',
    make: () => {
      const more = Array.from({ length: 50 }, (_, n) => ({
        name: `word/header${n}.xml`,
        content: ' '.repeat(megabyte),
        dataOf: 'word/document.xml',
      }));
      return docxWith({ content: ' '.repeat(megabyte) }, more);
    },
    problem: 'invalidArchive',
  },
  {
    what: 'a part that reaches beyond the end of the archive',
    type: 'xlsx',
    make: () =>
      makeZip([...xlsxEntries([['a', '']]), { name: 'xl/x.xml', content: 'a', declaredCompressedSize: 5 * megabyte }]),
    problem: 'invalidArchive',
  },
  {
    what: 'two parts of one name',
    type: 'docx',
    make: () => docxWith({ content: '<a/>' }, [{ name: 'word/document.xml', content: '<b/>' }]),
    problem: 'invalidArchive',
  },
  {
    what: 'more parts than any document has',
    type: 'xlsx',
    make: () =>
      makeZip([
        ...xlsxEntries([['a', '']]),
        ...Array.from({ length: 12_000 }, (_, n) => ({ name: `xl/${n}.xml`, content: '' })),
      ]),
    problem: 'tooManyEntries',
  },
  {
    what: 'sizes in a ZIP64 record that is not there',
    type: 'xlsx',
    make: () => {
      const bytes = makeZip(xlsxEntries([['a', '']]));
      bytes.fill(0xff, bytes.length - 14, bytes.length - 2);
      return bytes;
    },
    problem: 'tooManyEntries',
  },
  {
    what: 'entities of entities in a Word document',
    type: 'docx',
    make: () => makeDocx('<w:p><w:r><w:t>&j;</w:t></w:r></w:p>', { prolog: laughs }),
    problem: 'forbiddenXml',
  },
  {
    what: 'entities of entities in a workbook',
    type: 'xlsx',
    make: () => makeXlsx([['a', '<row r="1"><c r="A1"><v>&j;</v></c></row>']], { prolog: laughs }),
    problem: 'forbiddenXml',
  },
  {
    what: 'an entity from another file',
    type: 'docx',
    make: () => makeDocx('<w:p><w:r><w:t>&a;</w:t></w:r></w:p>', { prolog: reads }),
    problem: 'forbiddenXml',
  },
  {
    what: 'a Word document of deep elements',
    type: 'docx',
    make: () => makeDocx(`${'<w:sdt><w:sdtContent>'.repeat(50_000)}${'</w:sdtContent></w:sdt>'.repeat(50_000)}`),
    problem: 'tooDeep',
  },
  {
    what: 'a Word document of five million paragraphs without text',
    type: 'docx',
    make: () => makeDocx('<w:p/>'.repeat(5_000_000)),
    problem: 'empty',
    limits: { maxMemoryMb: 256 },
  },
  {
    what: 'a workbook of endless rows',
    type: 'xlsx',
    make: () =>
      makeXlsx([
        [
          'a',
          Array.from(
            { length: 200_000 },
            (_, n) => `<row r="${n + 1}"><c r="A${n + 1}"><v>123456789</v></c></row>`,
          ).join(''),
        ],
      ]),
    problem: 'tooLong',
    limits: { maxCharacters: 100_000 },
  },
  {
    what: 'a million empty cells',
    type: 'xlsx',
    make: () => makeXlsx([['a', `<row r="1">${'<c r="A1"/>'.repeat(1_000_000)}</row>`]]),
    problem: 'empty',
  },
  {
    what: 'a cell of 20 MB',
    type: 'xlsx',
    make: () => makeXlsx([['a', `<row r="1">${textCell('A1', 'a'.repeat(20 * megabyte))}</row>`]]),
    problem: 'tooLong',
  },
  {
    what: 'a workbook of columns without end',
    type: 'xlsx',
    make: () =>
      makeZip(
        xlsxEntries([['a', '']]).map((entry) => ({
          ...entry,
          content: String(entry.content).replace(
            '<sheetData>',
            '<cols><col min="1" max="2000000000"/></cols><sheetData>',
          ),
        })),
      ),
    problem: 'empty',
  },
  {
    what: 'a tree of pages that holds itself',
    type: 'pdf',
    make: () => pdfOf(['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [2 0 R] /Count 1 >>']),
    problem: 'damaged',
  },
  {
    what: 'a PDF of a billion pages',
    type: 'pdf',
    make: () =>
      pdfOf([
        '<< /Type /Catalog /Pages 2 0 R >>',
        '<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>',
        '<< /Type /Page /Parent 2 0 R >>',
      ]),
    problem: 'blank',
  },
  {
    what: 'a PDF of more pages than the limit',
    type: 'pdf',
    make: () => makePdf(Array.from({ length: 101 }, () => [{ text: 'a' }])),
    problem: 'tooManyPages',
    limits: { maxPages: 100 },
  },
  {
    what: 'a PDF of deep arrays',
    type: 'pdf',
    make: () =>
      pdfOf([
        '<< /Type /Catalog /Pages 2 0 R >>',
        `<< /Type /Pages /Kids ${'['.repeat(500_000)}${']'.repeat(500_000)} /Count 1 >>`,
      ]),
    problem: 'damaged',
  },
  {
    what: 'a page of packed blanks',
    type: 'pdf',
    make: makePackedBlanks,
    problem: 'tooMuchMemory',
    limits: { maxMemoryMb: 256 },
  },
  {
    what: 'a form that draws itself',
    type: 'pdf',
    make: () =>
      page(
        streamOf(
          '/F Do /F Do',
          '/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /F 4 0 R >> >>',
        ),
        '/Resources << /XObject << /F 4 0 R >> >>',
      ),
    problem: 'blank',
  },
  {
    what: 'a font whose codes are millions of characters',
    type: 'pdf',
    make: () => withFont('1 begincidrange <00000000> <00fffffe> 0 endcidrange'),
    problem: 'tooMuchMemory',
    limits: { maxMemoryMb: 256 },
  },
  { what: 'a CSV file of one cell', type: 'csv', make: () => Buffer.alloc(20 * megabyte, 'a'), problem: 'tooLong' },
  {
    what: 'a CSV file of endless rows',
    type: 'csv',
    make: () => Buffer.alloc(20 * megabyte, 'a,b\n'),
    problem: 'tooLong',
  },
  {
    what: 'a CSV file of empty cells',
    type: 'csv',
    make: () => Buffer.alloc(20 * megabyte, ','),
    problem: 'tooLong',
  },
  {
    what: 'a CSV file with a quote that is never closed',
    type: 'csv',
    make: () => Buffer.from(`a,b\n"1,${'2\n'.repeat(1_000)}`),
    problem: 'unclosedQuote',
  },
  {
    what: 'a Markdown file that is too long',
    type: 'markdown',
    make: () => Buffer.alloc(20 * megabyte, '#'),
    problem: 'tooLong',
  },
];
