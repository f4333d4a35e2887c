// Files that took excessive time in an earlier version. Each must be read in linear time or fail at once.
import test, { type ExecutionContext } from 'ava';
import { makeDocx, makeXlsx, paragraph, tableOf, textCell, xlsxEntries } from './make-documents.ts';
import { makeZip } from './make-zip.ts';
import { read, reasonFor, textOf } from './read.ts';

/**
 * Returns the processor time of `second` divided by that of `first`. Each is measured several times and the minimum is used, because
 * garbage collection may add time to any measurement.
 */
async function cpuRatio(first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<number> {
  const cpuOf = async (reading: () => Promise<unknown>) => {
    const before = process.cpuUsage();
    await reading();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const minOf = async (reading: () => Promise<unknown>) =>
    Math.min(await cpuOf(reading), await cpuOf(reading), await cpuOf(reading));
  const firstUs = await minOf(first);
  return (await minOf(second)) / firstUs;
}

/**
 * Asserts that reading takes linear time. A file of 8 times the size then takes 8 times as long; in quadratic time it would take 64 times
 * as long.
 */
async function isLinear(t: ExecutionContext, size: number, readOf: (size: number) => Promise<unknown>): Promise<void> {
  const times = await cpuRatio(
    () => readOf(size),
    () => readOf(8 * size),
  );
  t.true(times < 30, `${times}`);
}

const oneCell = `<row r="1">${textCell('A1', 'x')}</row>`;

/** Creates a workbook in which `part` has this content. The part is added if the workbook has no such part. */
function workbookWith(part: string, content: string, rows = oneCell): Buffer {
  const entries = xlsxEntries([['a', rows]]).map((entry) =>
    entry.name === 'xl/_rels/workbook.xml.rels'
      ? {
          ...entry,
          content: String(entry.content).replace(
            '</Relationships>',
            '<Relationship Id="s" Type="x/styles" Target="styles.xml"/></Relationships>',
          ),
        }
      : entry,
  );
  return makeZip([...entries.filter(({ name }) => name !== part), { name: part, content }]);
}

const damagedWorkbook = 'The file is damaged or incomplete: it cannot be read as an Excel workbook (.xlsx).';

test('a workbook with an endless attribute name is refused as damaged', async (t) => {
  const withName = (length: number) =>
    workbookWith('xl/workbook.xml', `<workbook><sheets><sheet ${'a'.repeat(length)}/></sheets></workbook>`);
  t.is(await reasonFor('xlsx', withName(1_000_000)), damagedWorkbook);
  await isLinear(t, 100_000, (size) => reasonFor('xlsx', withName(size)));
});

test('a list of sheets whose elements never end is refused as damaged', async (t) => {
  const sheets = `<workbook>${'<sheet '.repeat(100_000)}</workbook>`;
  t.is(await reasonFor('xlsx', workbookWith('xl/workbook.xml', sheets)), damagedWorkbook);
});

test('a workbook with two sheets in one part is refused as damaged', async (t) => {
  const sheets = '<workbook xmlns:r="r"><sheet name="a" r:id="rId1"/><sheet name="b" r:id="rId1"/></workbook>';
  t.is(await reasonFor('xlsx', workbookWith('xl/workbook.xml', sheets)), damagedWorkbook);
});

test('cells in the last column take as long as cells in the second one', async (t) => {
  const rowsTo = (column: string) =>
    makeXlsx([
      [
        'a',
        Array.from(
          { length: 3_000 },
          (_, n) => `<row r="${n}"><c r="A${n}"><v>1</v></c><c r="${column}${n}"><v>2</v></c></row>`,
        ).join(''),
      ],
    ]);
  const far = rowsTo('XFD');
  t.is(await textOf('xlsx', far), `## a\n\n| 1 | 2 |\n| --- | --- |\n${'| 1 | 2 |\n'.repeat(2_999)}\n`);
  const near = rowsTo('B');
  const times = await cpuRatio(
    () => read('xlsx', near),
    () => read('xlsx', far),
  );
  t.true(times < 8, `${times}`);
});

test('cells in no order are read in linear time', async (t) => {
  const cells = (size: number) => Array.from({ length: size }, (_, at) => textCell(`${'CBA'[at % 3]}1`, 'x')).join('');
  await isLinear(t, 10_000, (size) => read('xlsx', makeXlsx([['a', `<row r="1">${cells(size)}</row>`]])));
});

test('merged cells and headers of many merged cells are read in linear time', async (t) => {
  const merged = (ranges: number) =>
    xlsxEntries([
      [
        'a',
        `<row r="1">${'<c t="str"><v>x</v></c>'.repeat(2_000)}</row><row r="2">${'<c t="str"><v>y</v></c>'.repeat(2_000)}</row>`,
      ],
    ]).map((entry) => ({
      ...entry,
      content: String(entry.content).replace(
        '</sheetData>',
        `</sheetData><mergeCells>${Array.from({ length: ranges }, (_, at) => `<mergeCell ref="A${1 + (at % 2)}:B${1 + (at % 2)}"/>`).join('')}</mergeCells>`,
      ),
    }));
  await isLinear(t, 2_000, (size) => read('xlsx', makeZip(merged(size))));
});

test('a Word document of nested boxes, tables and fields is read in linear time', async (t) => {
  const nested = (text: string) =>
    makeDocx(
      `${'<w:p><w:r><w:pict><w:txbxContent>'.repeat(25)}${paragraph(text)}${'</w:txbxContent></w:pict></w:r></w:p>'.repeat(25)}` +
        `${'<w:tbl><w:tr><w:tc>'.repeat(15)}${paragraph(text)}${'</w:tc></w:tr></w:tbl>'.repeat(15)}`,
    );
  await isLinear(t, 20_000, (size) => read('docx', nested('word '.repeat(size))));
  const equation = (size: number) =>
    makeDocx(
      `<w:p><m:oMath>${'<m:f><m:num>'.repeat(100)}<m:r><m:t>${'a+'.repeat(size)}</m:t></m:r>${'</m:num></m:f>'.repeat(100)}</m:oMath></w:p>`,
    );
  await isLinear(t, 10_000, (size) => read('docx', equation(size)));
});

test('a workbook with a column beyond the last one is refused as damaged', async (t) => {
  t.is(await reasonFor('xlsx', makeXlsx([['a', '<row><c r="XFE1"><v>1</v></c></row>']])), damagedWorkbook);
  t.is(await reasonFor('xlsx', makeXlsx([['a', '<row><c r="1"><v>1</v></c></row>']])), damagedWorkbook);
});

test('a hostile number format is parsed once for each style, in linear time', async (t) => {
  const withFormat = (format: string, cells = 1) =>
    workbookWith(
      'xl/styles.xml',
      `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="${format}"/></numFmts><cellXfs><xf/><xf numFmtId="164"/></cellXfs></styleSheet>`,
      `<row r="1">${'<c s="1"><v>46053</v></c>'.repeat(cells)}</row>`,
    );
  t.is(await textOf('xlsx', withFormat('[Red]yyyy')), '## a\n\n| 2026-01-31 |\n| --- |\n\n');
  for (const hostile of ['[', '&quot;', '\\']) {
    t.is(await textOf('xlsx', withFormat(hostile.repeat(1_000_001))), '## a\n\n| 46053 |\n| --- |\n\n');
  }
  await isLinear(t, 100_000, (size) => read('xlsx', withFormat('['.repeat(size), 100)));
});

test('a million nested elements in a workbook are refused as too deep', async (t) => {
  const rows = '<a>'.repeat(1_000_000);
  t.is(await reasonFor('xlsx', makeXlsx([['a', rows]])), 'The content of the file is nested too deeply.');
});

test('notes that refer to each other are written once each', async (t) => {
  const reference = (id: number) => `<w:r><w:footnoteReference w:id="${id}"/></w:r>`;
  const note = (id: number, ...to: number[]) =>
    `<w:footnote w:id="${id}"><w:p><w:r><w:t>note</w:t></w:r>${to.map(reference).join('')}</w:p></w:footnote>`;
  const tree = Array.from({ length: 40 }, (_, id) => note(id, id + 1, id + 1, id + 1)).join('');
  const body = `<w:p><w:r><w:t>x</w:t></w:r>${reference(0)}</w:p>`;
  const text = await textOf('docx', makeDocx(body, { footnotes: tree }));
  t.is(text.split(': note').length - 1, 40);
  const loop = note(0, 1) + note(1, 0);
  t.is(await textOf('docx', makeDocx(body, { footnotes: loop })), 'x[^1]\n\n[^1]: note[^2]\n\n[^2]: note[^1]\n\n');
});

test('merged cells whose repeated text exceeds the limit are refused as too long', async (t) => {
  const reason = 'The text of the file is longer than 5,000,000 characters.';
  const wide = `<w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr>${paragraph('x')}</w:tc>`;
  t.is(await reasonFor('docx', makeDocx(`<w:tbl>${`<w:tr>${wide}</w:tr>`.repeat(5_000)}</w:tbl>`)), reason);
  const narrow = `<w:tr><w:tc>${paragraph('y')}</w:tc></w:tr>`;
  t.is(
    await reasonFor('docx', makeDocx(`<w:tbl><w:tr>${wide.repeat(500)}</w:tr>${narrow.repeat(500)}</w:tbl>`)),
    reason,
  );
});

test('endless blanks in a cell are read in linear time', async (t) => {
  const blanks = (size: number) => `a${' '.repeat(size)}|`;
  for (const readOf of [
    (size: number) => read('csv', `a,b\n"${blanks(size)}\n",c\n`),
    (size: number) => read('docx', makeDocx(tableOf([[`${blanks(size)}\n`, 'c']]))),
  ]) {
    await isLinear(t, 20_000, readOf);
  }
});

test('a record with too many cells is refused as too long', async (t) => {
  const commas = ','.repeat(1_000);
  const reason = 'The text of the file is longer than 100 characters.';
  t.is(await reasonFor('csv', commas, { maxCharacters: 100 }), reason);
  t.is(await reasonFor('csv', commas), 'The file is empty: it has no text.');
});
