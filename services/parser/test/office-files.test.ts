import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import exceljs from 'exceljs';
import {
  docxEntries,
  headingOf,
  listItem,
  makeDocx,
  makePdf,
  makeXlsx,
  paragraph,
  tableOf,
  textCell,
  xlsxEntries,
} from './make-documents.ts';
import { makeZip, type ZipEntry } from './make-zip.ts';
import { read, reasonFor, textOf } from './read.ts';

const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex');

test('headings, lists and tables of a Word document are kept', async (t) => {
  const body = [
    headingOf(1, 'Guide'),
    paragraph('First.\u00a0Then # more'),
    paragraph('# no heading'),
    `<w:p><w:r>${['nor this', '---', '== a', ' =='].map((line) => `<w:t>${line}</w:t>`).join('<w:br/>')}</w:r></w:p>`,
    headingOf(2, 'Steps'),
    listItem('one', { list: 2 }),
    listItem('two', { list: 2 }),
    listItem('inner', { level: 1 }),
    listItem('three', { list: 2 }),
    listItem('a point'),
    tableOf([
      ['Key', 'Value'],
      ['a|b', `${paragraph('x')}${paragraph('y')}`],
    ]),
    paragraph('End 日本語 العربية'),
  ].join('');
  t.is(
    await textOf('docx', makeDocx(body)),
    `# Guide\n\nFirst.\u00a0Then # more\n\n\\# no heading\n\nnor this\n\\---\n== a\n \\==\n\n## Steps\n\n1. one\n2. two\n  - inner\n3. three\n- a point\n\n` +
      `| Key | Value |\n| --- | --- |\n| a\\|b | x y |\n\nEnd 日本語 العربية\n\n`,
  );
});

test('merged cells of a Word table do not move the other cells to other columns', async (t) => {
  const cell = (text: string, properties = '') => `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text)}</w:tc>`;
  const body = `<w:tbl><w:tr>${cell('tall', '<w:vMerge w:val="restart"/>')}${cell('wide', '<w:gridSpan w:val="2"/>')}</w:tr><w:tr>${cell('', '<w:vMerge/>')}${cell('b')}${cell('c')}</w:tr></w:tbl>`;
  t.is(await textOf('docx', makeDocx(body)), '| tall | wide |  |\n| --- | --- | --- |\n|  | b | c |\n\n');
});

test('notes follow the text of a Word document', async (t) => {
  const body = `<w:p><w:r><w:t>Text</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>`;
  const footnotes = `<w:footnote w:id="2">${paragraph('the note')}</w:footnote>`;
  t.is(await textOf('docx', makeDocx(body, { footnotes })), 'Text[^1]\n\n[^1]: the note\n\n');
});

test('macros, pictures and nested archives in a document are not opened', async (t) => {
  const nested = makeZip([{ name: 'a', content: ' '.repeat(50_000_000) }]);
  const entries = [
    ...docxEntries(paragraph('text')),
    { name: 'word/vbaProject.bin', content: compoundFile },
    { name: 'word/media/image1.png', content: '<!DOCTYPE' },
    { name: 'word/embeddings/inner.zip', content: nested },
  ];
  t.is(await textOf('docx', makeZip(entries)), 'text\n\n');
});

test('each sheet of a workbook becomes a section with a table, and hidden sheets are omitted', async (t) => {
  const book = new exceljs.Workbook();
  const people = book.addWorksheet('People & places');
  people.addRow(['Name', null, 'Born', 'Score', 'Sum', 'Rich', 'Link', 'Yes']);
  people.addRow([
    'Ann|a\nb',
    null,
    new Date('2026-01-31T00:00:00Z'),
    0.1 + 0.2,
    { formula: 'D2*2', result: 0.6 },
    { richText: [{ text: 'bo', font: { bold: true } }, { text: 'ld' }] },
    { text: 'site', hyperlink: 'https://example.com' },
    true,
  ]);
  people.addRow(['Bob', null, new Date('2026-01-31T13:45:10Z'), 12, { formula: 'A3', result: 'Bob' }]);
  book.addWorksheet('Secret', { state: 'hidden' }).addRow(['hidden']);
  book.addWorksheet('Empty');
  book.addWorksheet('الأرقام').addRow([1, 2]);
  const bytes = Buffer.from(await book.xlsx.writeBuffer());
  const expected =
    '## People & places\n\n| Name | Born | Score | Sum | Rich | Link | Yes |\n| --- | --- | --- | --- | --- | --- | --- |\n' +
    '| Ann\\|a b | 2026-01-31 | 0.3 | 0.6 | bold | site | TRUE |\n| Bob | 2026-01-31T13:45:10 | 12 | Bob |  |  |  |\n\n' +
    '## الأرقام\n\n| 1 | 2 |\n| --- | --- |\n\n';
  t.is(await textOf('xlsx', bytes), expected);
});

test('a workbook that was written as a stream is read in the same way', async (t) => {
  const stream = new PassThrough();
  const written = buffer(stream);
  const book = new exceljs.stream.xlsx.WorkbookWriter({ stream, useSharedStrings: true, useStyles: true });
  const sheet = book.addWorksheet('Rows');
  for (let row = 1; row <= 300; row += 1) sheet.addRow([`text ${row}`, row]).commit();
  await book.commit();
  const text = await textOf('xlsx', await written);
  t.is(text.split('\n').length, 300 + 5);
  t.true(text.endsWith('| text 299 | 299 |\n| text 300 | 300 |\n\n'));
});

test('a number is not read as a date if letters in its format only fill or leave space', async (t) => {
  const book = new exceljs.Workbook();
  const cell = book.addWorksheet('a').getCell('A1');
  cell.value = 1234.5;
  cell.numFmt = '_-* #,##0.00\\ _D_M_-;*m#,##0';
  const bytes = Buffer.from(await book.xlsx.writeBuffer());
  t.is(await textOf('xlsx', bytes), '## a\n\n| 1,234.50 |\n| --- |\n\n');
});

test('dates that a formula computes are ISO, in both epochs of workbooks', async (t) => {
  const styles = `<styleSheet><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="164" applyNumberFormat="1"/></cellXfs></styleSheet>`;
  const row = '<row r="1"><c r="A1" s="1"><f>TODAY()</f><v>46053</v></c><c r="B1" s="1"><v>46053.5</v></c></row>';
  const entries = xlsxEntries([['a', row]]).map((entry) =>
    entry.name === 'xl/_rels/workbook.xml.rels'
      ? {
          ...entry,
          content: String(entry.content).replace(
            '</Relationships>',
            '<Relationship Id="s" Type="x/styles" Target="/xl/styles.xml"/></Relationships>',
          ),
        }
      : entry,
  );
  const book = [...entries, { name: 'xl/styles.xml', content: styles }];
  t.regex(await textOf('xlsx', makeZip(book)), /\| 2026-01-31 \| 2026-01-31T12:00:00 \|/);
  const in1904 = book.map((entry) => ({
    ...entry,
    content: String(entry.content).replace('<workbookPr/>', '<workbookPr date1904="1"/>'),
  }));
  t.regex(await textOf('xlsx', makeZip(in1904)), /\| 2030-02-01 \| 2030-02-01T12:00:00 \|/);
});

test('a duration is not read as a date, nor a time of day, in both epochs of workbooks', async (t) => {
  const formats = ['[h]:mm:ss', 'h:mm', 'yyyy-mm-dd'].map(
    (code, at) => `<numFmt numFmtId="${200 + at}" formatCode="${code}"/>`,
  );
  const xfs = [0, 200, 201, 202, 46].map((id) => `<xf numFmtId="${id}"/>`);
  const styles = `<styleSheet><numFmts>${formats.join('')}</numFmts><cellXfs>${xfs.join('')}</cellXfs></styleSheet>`;
  const row =
    '<row><c s="1"><v>1.5</v></c><c s="4"><v>-0.25</v></c><c s="2"><v>0.5</v></c><c s="3"><v>-5</v></c><c s="2"><v> </v></c></row>';
  for (const epoch of ['0', '1']) {
    const entries = xlsxEntries([['a', row]]).map(({ name, content }) => ({
      name,
      content: String(content)
        .replace('<workbookPr/>', `<workbookPr date1904="${epoch}"/>`)
        .replace('</Relationships>', '<Relationship Id="s" Type="x/styles" Target="/xl/styles.xml"/></Relationships>'),
    }));
    const text = await textOf('xlsx', makeZip([...entries, { name: 'xl/styles.xml', content: styles }]));
    t.regex(text, /^\| 36:00:00 \| -06:00:00 \| 12:00:00 \| -5 \|$/m, epoch);
  }
});

test('characters written as codes are decoded, and booleans written as words are read', async (t) => {
  const row =
    '<row><c t="inlineStr"><is><t>one_x000D_\ntwo</t></is></c><c t="str"><v>_x0041_ _x005F_x0041_</v></c><c t="b"><v>false</v></c></row>';
  t.regex(await textOf('xlsx', makeXlsx([['a', row]])), /^\| one two \| A _x0041_ \| FALSE \|$/m);
  const book = new exceljs.Workbook();
  book.addWorksheet('a').addRow(['line_x000D_\nline']);
  t.regex(await textOf('xlsx', Buffer.from(await book.xlsx.writeBuffer())), /^\| line line \|$/m);
});

test('parts are found whatever the case of their names', async (t) => {
  const strings = '<Relationship Id="s" Type="x/sharedStrings" Target="sharedStrings.xml"/>';
  const entries = xlsxEntries([['a', '<row><c t="s"><v>0</v></c></row>']]).map(({ name, content }) => ({
    name,
    content: String(content).replace('</Relationships>', `${strings}</Relationships>`),
  }));
  const book = [...entries, { name: 'xl/SharedStrings.xml', content: '<sst><si><t>shared</t></si></sst>' }];
  t.regex(await textOf('xlsx', makeZip(book)), /^\| shared \|$/m);
  const twice = [...book, { name: 'XL/sharedStrings.xml', content: '<sst/>' }];
  t.regex(await reasonFor('xlsx', makeZip(twice)), /^The file is damaged: parts of its archive overlap/);
});

/** Returns an archive in which all relationships are changed by replacing texts. */
function related(entries: ZipEntry[], ...changes: [from: string | RegExp, to: string][]): Buffer {
  const changed = ({ name, content }: ZipEntry) =>
    name.endsWith('.rels')
      ? { name, content: changes.reduce((text, [from, to]) => text.replaceAll(from, to), String(content)) }
      : { name, content };
  return makeZip(entries.map(changed));
}

test('relationships with backslashes or encoded names lead to their parts', async (t) => {
  const book = xlsxEntries([['a b', `<row>${textCell('A1', 'cell')}</row>`]]);
  const text = '## a b\n\n| cell |\n| --- |\n\n';
  for (const target of ['worksheets\\sheet1.xml', '\\xl\\worksheets\\sheet1.xml', '.\\worksheets/sheet%31.xml'])
    t.is(await textOf('xlsx', related(book, ['worksheets/sheet1.xml', target])), text, target);
  t.regex(await reasonFor('xlsx', related(book, ['worksheets/sheet1.xml', 'worksheets/%zz.xml'])), /is damaged/);
  const document = docxEntries('<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>title</w:t></w:r></w:p>');
  const slashes: [string, string][] = [
    ['word/document.xml', '\\word\\document.xml'],
    ['styles.xml', '.\\styles.xml'],
  ];
  t.is(await textOf('docx', related(document, ...slashes)), '# title\n\n');
});

test("a workbook is found by the package's relationship, because some programs number its file name", async (t) => {
  const book = xlsxEntries([['a', `<row>${textCell('A1', 'cell')}</row>`]]).map((entry) => ({
    ...entry,
    name: entry.name.replace('workbook', 'workbook2'),
  }));
  t.regex(await textOf('xlsx', related(book, ['workbook.xml', 'workbook2.xml'])), /^\| cell \|$/m);
});

test('a value in the last column does not make a table of sixteen thousand columns', async (t) => {
  t.is(
    await textOf('xlsx', makeXlsx([['a', `<row r="9">${textCell('A9', 'first')}${textCell('XFD9', 'last')}</row>`]])),
    '## a\n\n| first | last |\n| --- | --- |\n\n',
  );
});

test('a document with a password is refused with this reason', async (t) => {
  const reason = 'The file is protected by a password. Remove the password and upload it again.';
  const encrypted = Buffer.concat([compoundFile, Buffer.alloc(504), Buffer.from('EncryptedPackage', 'utf16le')]);
  for (const type of ['docx', 'xlsx'] as const) t.is(await reasonFor(type, encrypted), reason);
  const entries = docxEntries(paragraph('a')).map((entry) => ({ ...entry, flags: 1 }));
  t.is(await reasonFor('docx', makeZip(entries)), reason);
});

test('a document of another type is refused with its actual type', async (t) => {
  const docx = makeDocx(paragraph('a'));
  const xlsx = makeXlsx([['a', '']]);
  const asWord = 'The file was uploaded as a Word document (.docx), but its content is';
  t.is(await reasonFor('docx', xlsx), `${asWord} an Excel workbook (.xlsx).`);
  t.is(await reasonFor('docx', makePdf([])), `${asWord} a PDF document.`);
  t.is(await reasonFor('docx', 'plain'), `${asWord} plain text.`);
  t.is(
    await reasonFor('docx', Buffer.concat([compoundFile, Buffer.alloc(504)])),
    `${asWord} a document of an old Office format (such as .doc or .xls).`,
  );
  t.is(
    await reasonFor('docx', makeZip([{ name: 'ppt/presentation.xml', content: '' }])),
    `${asWord} a PowerPoint presentation.`,
  );
  t.is(await reasonFor('docx', makeZip([{ name: 'a.txt', content: 'a' }])), `${asWord} a ZIP archive.`);
  t.is(
    await reasonFor('xlsx', docx),
    'The file was uploaded as an Excel workbook (.xlsx), but its content is a Word document (.docx).',
  );
});

test('a truncated document is refused as damaged, wherever it was cut', async (t) => {
  const files = {
    docx: makeDocx(paragraph('text '.repeat(1_000))),
    xlsx: makeXlsx([['a', `<row r="1">${textCell('A1', 'x')}</row>`]]),
  };
  for (const [type, bytes] of Object.entries(files) as ['docx' | 'xlsx', Buffer][]) {
    for (const share of [0.1, 0.5, 0.9, 0.999]) {
      t.regex(
        await reasonFor(type, bytes.subarray(0, bytes.length * share)),
        /^The file is damaged or incomplete: it cannot be read as an? (?:Word|Excel)/,
      );
    }
  }
});

test('a document without text is refused as empty', async (t) => {
  t.is(await reasonFor('docx', makeDocx(paragraph(' '))), 'The file is empty: it has no text.');
  t.is(
    await reasonFor('xlsx', makeXlsx([['a', '<row r="1"><c r="A1"/></row>']])),
    'The file is empty: it has no text.',
  );
});

test('a document with invalid XML or missing parts is refused as damaged', async (t) => {
  const damaged = /^The file is damaged or incomplete/;
  t.regex(await reasonFor('docx', makeDocx('<w:p>')), damaged);
  t.regex(await reasonFor('xlsx', makeXlsx([['a', '<row r="1"><c r="A1">']])), damaged);
  t.regex(await reasonFor('docx', makeZip([{ name: 'word/document.xml', content: '' }])), damaged);
});

test('a workbook that refers to missing texts or sheets is refused as damaged', async (t) => {
  const damaged = 'The file is damaged or incomplete: it cannot be read as an Excel workbook (.xlsx).';
  const withText = (cell: string) => xlsxEntries([['a', `<row><c><v>1</v></c>${cell}</row>`]]);
  t.is(await reasonFor('xlsx', makeZip(withText('<c t="s"><v>0</v></c>'))), damaged);
  t.regex(await textOf('xlsx', makeZip(withText('<c t="s"><v> </v></c>'))), /^\| 1 \|$/m);
  const two = xlsxEntries([
    ['a', `<row>${textCell('A1', 'x')}</row>`],
    ['b', `<row>${textCell('A1', 'y')}</row>`],
  ]);
  for (const missing of ['xl/_rels/workbook.xml.rels', 'xl/worksheets/sheet2.xml'])
    t.is(await reasonFor('xlsx', makeZip(two.filter(({ name }) => name !== missing))), damaged, missing);
});

test('parts in UTF-16 or another declared encoding are read', async (t) => {
  const inUtf16 = (text: string) => Buffer.from(text.replace('"UTF-8"', '"UTF-16"'), 'utf16le');
  const mark = '\ufeff';
  const encodings: Record<string, (text: string) => Buffer> = {
    'UTF-16LE with a mark': (text) => inUtf16(mark + text),
    'UTF-16BE with a mark': (text) => inUtf16(mark + text).swap16(),
    'UTF-16LE by its declaration': inUtf16,
    'UTF-16BE by its declaration': (text) => inUtf16(text).swap16(),
    'UTF-8 with a mark': (text) => Buffer.from(mark + text),
    'UTF-8 that declares UTF-16': (text) => Buffer.from(text.replace('"UTF-8"', '"utf-16"')),
    'Windows-1252': (text) => Buffer.from(text.replace('UTF-8', 'windows-1252'), 'latin1'),
  };
  for (const [what, encode] of Object.entries(encodings)) {
    const encoded = (entries: ZipEntry[]) =>
      makeZip(entries.map((entry) => ({ ...entry, content: encode(String(entry.content)) })));
    const workbook = encoded(xlsxEntries([['Größe', `<row>${textCell('A1', 'schön')}</row>`]]));
    t.is(await textOf('xlsx', workbook), '## Größe\n\n| schön |\n| --- |\n\n', what);
    t.is(await textOf('docx', encoded(docxEntries(paragraph('schön')))), 'schön\n\n', what);
  }
});

test('a part in an unknown encoding is refused as damaged', async (t) => {
  const unknown = (entries: ZipEntry[]) =>
    makeZip(entries.map((entry) => ({ ...entry, content: String(entry.content).replace('UTF-8', 'EBCDIC-US') })));
  t.regex(await reasonFor('xlsx', unknown(xlsxEntries([['a', '']]))), /^The file is damaged or incomplete/);
  t.regex(await reasonFor('docx', unknown(docxEntries(paragraph('a')))), /^The file is damaged or incomplete/);
});

test('a text about document types is read as text, whatever its encoding', async (t) => {
  const page = '<![CDATA[<!DOCTYPE html>]]>';
  const row = `<row><c t="inlineStr"><is><t>${page}</t></is></c></row>`;
  t.is(await textOf('xlsx', makeXlsx([['a', row]])), '## a\n\n| <!DOCTYPE html> |\n| --- |\n\n');
  const word = makeDocx(`<w:p><w:r><w:t>a &amp; ${page}<![CDATA[ & b]]> c</w:t></w:r></w:p>`);
  t.is(await textOf('docx', word), 'a & <!DOCTYPE html> & b c\n\n');
  t.regex(await reasonFor('docx', makeDocx('<w:p><w:r><w:t><![CDATA[')), /^The file is damaged or incomplete/);

  const forbidden = 'The file defines XML entities, which no office document may do.';
  const prolog = '<!DOCTYPE x [<!ENTITY a "b">]>';
  const inUtf16 = (entries: ZipEntry[]) =>
    makeZip(entries.map((entry) => ({ ...entry, content: Buffer.from(`\ufeff${entry.content}`, 'utf16le') })));
  t.is(await reasonFor('xlsx', inUtf16(xlsxEntries([['a', row]], { prolog }))), forbidden);
  t.is(await reasonFor('docx', inUtf16(docxEntries(paragraph('a'), { prolog }))), forbidden);
});

test("text in comments of a Word document's XML is not read as markup", async (t) => {
  const commented = (comment: string) =>
    makeDocx(`${paragraph('one')}<!-- ${comment} -->${paragraph('two')}<!-- ]]> -->`);
  for (const comment of ['<![CDATA[', '<!DOCTYPE x>', '<?x', '<w:p>'])
    t.is(await textOf('docx', commented(comment)), 'one\n\ntwo\n\n', comment);
  t.is(await textOf('docx', makeDocx('<w:p><w:r><w:t>a<?x <!-- ?>b</w:t></w:r></w:p>')), 'ab\n\n');
  for (const start of ['<!--', '<?x ', '<![CDATA['])
    t.regex(await reasonFor('docx', makeDocx(start.repeat(100_000))), /^The file is damaged or incomplete/, start);
});

test('an extension of a cell adds no text', async (t) => {
  const extension = '<extLst><ext uri="x"><x:v>9</x:v><x:is><x:t>hidden</x:t></x:is></ext></extLst>';
  const row = `<row><c><v>1</v>${extension}</c><c t="inlineStr"><is><t>shown</t></is>${extension}</c></row>`;
  t.is(await textOf('xlsx', makeXlsx([['a', row]])), '## a\n\n| 1 | shown |\n| --- | --- |\n\n');
});

test('only PDFs have page starts', async (t) => {
  t.deepEqual((await read('docx', makeDocx(paragraph('a')))).pageStarts, []);
});
