import { deflateSync } from 'node:zlib';
import { makeZip, type ZipEntry } from './make-zip.ts';

const packageTypes = 'http://schemas.openxmlformats.org/package/2006';
const officeTypes = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

export const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const relations = (targets: [type: string, target: string][]) =>
  `${declaration}<Relationships xmlns="${packageTypes}/relationships">${targets
    .map(
      ([type, target], index) =>
        `<Relationship Id="rId${index + 1}" Type="${officeTypes}/${type}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`;

const contentTypes = `${declaration}<Types xmlns="${packageTypes}/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>`;

// --- DOCX

export const paragraph = (text: string, properties = '') =>
  `<w:p>${properties && `<w:pPr>${properties}</w:pPr>`}<w:r><w:t xml:space="preserve">${escapeXml(text)}</w:t></w:r></w:p>`;
export const headingOf = (level: number, text: string) => paragraph(text, `<w:pStyle w:val="Heading${level}"/>`);
export const listItem = (text: string, { level = 0, list = 1 } = {}) =>
  paragraph(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`);
export const tableOf = (rows: string[][]) =>
  `<w:tbl>${rows
    .map(
      (row) =>
        `<w:tr>${row.map((cell) => `<w:tc>${cell.startsWith('<w:') ? cell : paragraph(cell)}</w:tc>`).join('')}</w:tr>`,
    )
    .join('')}</w:tbl>`;

const wordNames =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';
const styles = `${declaration}<w:styles ${wordNames}>${[1, 2, 3, 4, 5, 6]
  .map(
    (level) => `<w:style w:type="paragraph" w:styleId="Heading${level}"><w:name w:val="heading ${level}"/></w:style>`,
  )
  .join('')}</w:styles>`;
const levels = (format: string) =>
  [0, 1, 2].map((level) => `<w:lvl w:ilvl="${level}"><w:numFmt w:val="${format}"/></w:lvl>`).join('');
/** List 1 has bullets; list 2 has numbers. */
const numbering = `${declaration}<w:numbering ${wordNames}><w:abstractNum w:abstractNumId="1">${levels('bullet')}</w:abstractNum><w:abstractNum w:abstractNumId="2">${levels('decimal')}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num></w:numbering>`;

export interface DocxOptions {
  /** XML of `w:footnote` elements. */
  footnotes?: string;
  /** XML of `w:abstractNum` and `w:num` elements, which replace the default lists 1 (bullets) and 2 (numbers). */
  numbering?: string;
  /** XML of `w:style` elements, added to the heading styles. */
  styles?: string;
  /** Parts that the document has a relationship with. `type` is the type of the relationship. */
  related?: { type: string; name: string; content: string }[];
  prolog?: string;
}

/** Returns the parts of a Word document. The relationships to the `related` parts have the ids `rId10`, `rId11` and so on. */
export function docxEntries(
  body: string,
  { footnotes = '', prolog = '', numbering: lists, styles: more = '', related = [] }: DocxOptions = {},
): ZipEntry[] {
  const documents: [string, string][] = [
    ['styles', 'styles.xml'],
    ['numbering', 'numbering.xml'],
  ];
  if (footnotes) documents.push(['footnotes', 'footnotes.xml']);
  if (related.length > 0) {
    while (documents.length < 9) documents.push(['unused', 'unused.xml']);
    documents.push(...related.map(({ type, name }): [string, string] => [type, name]));
  }
  return [
    { name: '[Content_Types].xml', content: contentTypes },
    { name: '_rels/.rels', content: relations([['officeDocument', 'word/document.xml']]) },
    { name: 'word/_rels/document.xml.rels', content: relations(documents) },
    { name: 'word/styles.xml', content: styles.replace('</w:styles>', `${more}</w:styles>`) },
    {
      name: 'word/numbering.xml',
      content: lists === undefined ? numbering : `${declaration}<w:numbering ${wordNames}>${lists}</w:numbering>`,
    },
    ...related.map(({ name, content }) => ({ name: `word/${name}`, content: `${declaration}${content}` })),
    ...(footnotes
      ? [{ name: 'word/footnotes.xml', content: `${declaration}<w:footnotes ${wordNames}>${footnotes}</w:footnotes>` }]
      : []),
    {
      name: 'word/document.xml',
      content: `${declaration}${prolog}<w:document ${wordNames}><w:body>${body}</w:body></w:document>`,
    },
  ];
}

export const makeDocx = (body: string, options: DocxOptions = {}) => makeZip(docxEntries(body, options));

// --- XLSX

const sheetNames =
  'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';

/**
 * Returns the parts of a workbook.
 * @param sheets the name of each sheet, and the XML of the sheet's rows
 */
export function xlsxEntries(sheets: [name: string, rows: string][], { prolog = '' } = {}): ZipEntry[] {
  const listed = sheets.map(
    ([name], index) => `<sheet name="${escapeXml(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`,
  );
  return [
    { name: '[Content_Types].xml', content: contentTypes },
    { name: '_rels/.rels', content: relations([['officeDocument', 'xl/workbook.xml']]) },
    {
      name: 'xl/workbook.xml',
      content: `${declaration}<workbook ${sheetNames}><workbookPr/><sheets>${listed.join('')}</sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: relations(sheets.map((_, index) => ['worksheet', `worksheets/sheet${index + 1}.xml`])),
    },
    ...sheets.map(([, rows], index) => ({
      name: `xl/worksheets/sheet${index + 1}.xml`,
      content: `${declaration}${prolog}<worksheet ${sheetNames}><sheetData>${rows}</sheetData></worksheet>`,
    })),
  ];
}

export const makeXlsx = (sheets: [name: string, rows: string][], options: { prolog?: string } = {}) =>
  makeZip(xlsxEntries(sheets, options));

export const textCell = (reference: string, text: string) =>
  `<c r="${reference}" t="inlineStr"><is><t>${escapeXml(text)}</t></is></c>`;

// --- PDF

export interface PdfLine {
  text: string;
  size?: number;
  y?: number;
  /** Distance of the line from the page's left edge, in points. Default: 50. */
  x?: number;
}

export const streamOf = (content: Buffer | string, dictionary = '') => {
  const bytes = Buffer.from(content);
  return Buffer.concat([
    Buffer.from(`<< /Length ${bytes.length} ${dictionary} >>\nstream\n`),
    bytes,
    Buffer.from('\nendstream'),
  ]);
};

/** Creates a PDF from these objects, numbered from 1, with a cross-reference table. */
export function pdfOf(objects: (Buffer | string)[], { trailer = '', secondLine = '%\xe2\xe3\xcf\xd3\n' } = {}): Buffer {
  const parts: Buffer[] = [Buffer.from(`%PDF-1.7\n${secondLine}`, 'latin1')];
  const places: number[] = [];
  let length = parts[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    places.push(length);
    const part = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n')]);
    parts.push(part);
    length += part.length;
  }
  const listed = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  const end = `xref\n0 ${size}\n0000000000 65535 f \n${listed}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${length}\n%%EOF\n`;
  return Buffer.concat([...parts, Buffer.from(end)]);
}

/** In the test font each glyph has a code of 16 bits. 👍 has two UTF-16 code units, so it gets a private code. */
const thumbsUp = '\ue000';
const hex = (text: string) => Buffer.from(text.replaceAll('👍', thumbsUp), 'utf16le').swap16().toString('hex');

/**
 * A PDF map from codes to characters, as in a subset font. Each code is a UTF-16 code unit and maps to its character, except for the
 * private code of 👍.
 */
const toUnicode = `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /U def /CMapType 2 def
1 begincodespacerange <0000> <ffff> endcodespacerange
100 beginbfrange
${Array.from({ length: 100 }, (_, index) => index)
  .map((row) => bfRange(row))
  .join('\n')}
endbfrange
100 beginbfrange
${Array.from({ length: 100 }, (_, index) => index + 100)
  .map((row) => bfRange(row))
  .join('\n')}
endbfrange
56 beginbfrange
${Array.from({ length: 56 }, (_, index) => index + 200)
  .map((row) => bfRange(row))
  .join('\n')}
endbfrange
1 beginbfchar <e000> <d83ddc4d> endbfchar
endcmap CMapName currentdict /CMap defineresource pop end end`;

function bfRange(row: number): string {
  const high = row.toString(16).padStart(2, '0');
  return `<${high}00> <${high}ff> <${high}00>`;
}

/** Creates a PDF with text in any script from an array of lines for each page. A page without lines is blank, like a scan. */
export function makePdf(pages: PdfLine[][]): Buffer {
  const firstPage = 7;
  const kids = pages.map((_, index) => `${firstPage + 2 * index} 0 R`);
  const objects: (Buffer | string)[] = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type0 /BaseFont /Parley /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>',
    '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Parley /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 500 /FontDescriptor 6 0 R >>',
    streamOf(deflateSync(toUnicode), '/Filter /FlateDecode'),
    '<< /Type /FontDescriptor /FontName /Parley /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
  ];
  for (const [index, lines] of pages.entries()) {
    let y = 780;
    const shown = lines.map(({ text, size = 11, y: own, x = 50 }) => {
      y = own ?? y - size * 1.3;
      return `BT /F1 ${size} Tf 1 0 0 1 ${x} ${y.toFixed(2)} Tm <${hex(text)}> Tj ET`;
    });
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${firstPage + 2 * index + 1} 0 R >>`,
      streamOf(deflateSync(shown.join('\n')), '/Filter /FlateDecode'),
    );
  }
  return pdfOf(objects);
}

/**
 * Creates a PDF with one page. `content` is the page's content stream, `entries` and `catalog` are added to the dictionaries of the page
 * and the catalog, and `others` are further objects, numbered from 5.
 */
export function makePage(
  content: string,
  { entries = '', catalog = '', others = [] as (Buffer | string)[] } = {},
): Buffer {
  return pdfOf([
    `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R ${entries} >>`,
    streamOf(content),
    ...others,
  ]);
}

/** Creates a PDF that consists of ASCII characters only. */
export function makePlainPdf(text = 'text'): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 4 0 R >> >> /Contents 5 0 R >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    streamOf(`BT /F1 11 Tf 1 0 0 1 50 780 Tm (${text}) Tj ET`),
  ];
  return pdfOf(objects, { secondLine: '' });
}
