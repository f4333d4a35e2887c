import test from 'ava';
import exceljs from 'exceljs';
import { makeXlsx, textCell, xlsxEntries } from './make-documents.ts';
import { makeZip, type ZipEntry } from './make-zip.ts';
import { read, textOf } from './read.ts';

type Cell = string | number | null;

/** Creates a workbook with one sheet, which has these rows, merged ranges and cell formats. */
async function bookOf(
  rows: Cell[][],
  { merged = [], formats = {} }: { merged?: string[]; formats?: Record<string, string> } = {},
) {
  const book = new exceljs.Workbook();
  const sheet = book.addWorksheet('S');
  for (const row of rows) sheet.addRow(row);
  for (const range of merged) sheet.mergeCells(range);
  for (const [cell, format] of Object.entries(formats)) sheet.getCell(cell).numFmt = format;
  return Buffer.from(await book.xlsx.writeBuffer());
}

const rowsOf = (text: string) => text.split('\n').filter((line) => line.startsWith('|') && !line.startsWith('| ---'));
const sheet = async (...args: Parameters<typeof bookOf>) => rowsOf(await textOf('xlsx', await bookOf(...args)));

test('numbers are as the workbook shows them', async (t) => {
  const shown: [value: number, format: string, text: string][] = [
    [2_035, '00000', '02035'],
    [0.653035934239184, '0%', '65%'],
    [0.0575, '0.00%', '5.75%'],
    [56_701.0309278351, '"$"#,##0.00', '$56,701.03'],
    [56_701.0309278351, '[$€-407] #,##0.00', '€ 56,701.03'],
    [1_234.5, '#,##0.00\\ "€"', '1,234.50 €'],
    [1_250, '0" kg"', '1250 kg'],
    [-300, '#,##0;(#,##0)', '(300)'],
    [-300, '#,##0;[Red]-#,##0', '-300'],
    [0, '#,##0;(#,##0);"none"', 'none'],
    [-1_234.5, '_-* #,##0.00_-;-* #,##0.00_-', '-1,234.50'],
    [5_550_123, '000-0000', '555-0123'],
    [1.25, '# ?/?', '1 1/4'],
    [12_345_678, '0.0,,"M"', '12.3M'],
    [123_456, '0.00E+00', '1.23E+05'],
    [12.5, 'General" kg"', '12.5 kg'],
    [1234.5678, 'General', '1234.5678'],
    [1234.5678, '@', '1234.5678'],
    [42, '#,##0 "x', '42'],
  ];
  const rows = await sheet(
    shown.map(([value]) => ['x', value]),
    { formats: Object.fromEntries(shown.map(([, format], at) => [`B${at + 1}`, format])) },
  );
  t.deepEqual(
    rows,
    shown.map(([, , text]) => `| x | ${text} |`),
  );
});

test('number formats given only by a number are known, and hidden numbers are omitted', async (t) => {
  const styles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode=";;;"/></numFmts><cellXfs>${[0, 2, 9, 10, 37, 44, 49, 164].map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs></styleSheet>`;
  const row = `<row>${[0, 1, 2, 3, 4, 5, 6, 7].map((style) => `<c s="${style}"><v>-0.5</v></c>`).join('')}</row>`;
  const text = await textOf('xlsx', makeZip(withPart(xlsxEntries([['a', row]]), 'styles', 'xl/styles.xml', styles)));
  t.deepEqual(rowsOf(text), ['| -0.5 | -0.50 | -50% | -50.00% | (1) | ($0.50) | -0.5 |']);
});

/** Adds a part, and a relationship from the workbook to this part. */
function withPart(entries: ZipEntry[], type: string, name: string, content: string): ZipEntry[] {
  const relation = `<Relationship Id="x" Type="x/${type}" Target="/${name}"/></Relationships>`;
  const related = entries.map((entry) =>
    entry.name === 'xl/_rels/workbook.xml.rels'
      ? { ...entry, content: String(entry.content).replace('</Relationships>', relation) }
      : entry,
  );
  return [...related, { name, content }];
}

test('merged cells repeat their value, and headers of several rows are joined', async (t) => {
  t.deepEqual(
    await sheet(
      [
        ['Region', 'Office', '2025', null],
        [null, null, 'Q1', 'Q2'],
        ['North', 'A', 1, 2],
        [null, 'B', 3, 4],
      ],
      { merged: ['C1:D1', 'A3:A4', 'B1:B2', 'A1:A2'] },
    ),
    ['| Region | Office | 2025 Q1 | 2025 Q2 |', '| North | A | 1 | 2 |', '| North | B | 3 | 4 |'],
  );
  t.deepEqual(
    await sheet(
      [
        [null, 'Sales', null, 'Costs', null],
        ['Site', '2024', '2025', '2024', '2025'],
        ['Oslo', 1, 2, 3, 4],
      ],
      { merged: ['B1:C1', 'D1:E1'] },
    ),
    ['| Site | Sales 2024 | Sales 2025 | Costs 2024 | Costs 2025 |', '| Oslo | 1 | 2 | 3 | 4 |'],
    'a header without a cell that spans rows',
  );
  t.deepEqual(
    await sheet(
      [
        ['Part', 'Size', null, null],
        [null, 'Inner', null, 'Outer'],
        [null, 'mm', 'inch', 'mm'],
        ['Ring', 1, 2, 3],
      ],
      { merged: ['A1:A3', 'B1:D1', 'B2:C2'] },
    ),
    ['| Part | Size Inner mm | Size Inner inch | Size Outer mm |', '| Ring | 1 | 2 | 3 |'],
    'a header of three rows',
  );
});

test('merged cells without a header of several rows do not change the header', async (t) => {
  t.deepEqual(
    await sheet(
      [
        ['Name', 'Address', null],
        ['Ann', 'Street 1', 'Oslo'],
        ['Bo', 'Road 2', null],
      ],
      { merged: ['B1:C1', 'B3:C3'] },
    ),
    ['| Name | Address | Address |', '| Ann | Street 1 | Oslo |', '| Bo | Road 2 | Road 2 |'],
  );
  t.deepEqual(
    await sheet(
      [
        ['Site', 'Floor', 'Size'],
        ['Oslo', 1, 20],
        [null, 2, 30],
        ['Closed on holidays', null, null],
      ],
      { merged: ['A2:A3', 'A4:C4'] },
    ),
    ['| Site | Floor | Size |', '| Oslo | 1 | 20 |', '| Oslo | 2 | 30 |', '| Closed on holidays |  |  |'],
    'a line over all columns stands once',
  );
});

test('title lines above the header of a sheet stay text', async (t) => {
  const table = '| Site | Manager |\n| --- | --- |\n| Oslo | Kari |\n\n';
  const rows = [
    ['Site', 'Manager'],
    ['Oslo', 'Kari'],
  ];
  t.is(
    await textOf('xlsx', await bookOf([['Stock list'], ['of 2026'], ...rows])),
    `## S\n\nStock list\n\nof 2026\n\n${table}`,
  );
  t.is(
    await textOf('xlsx', await bookOf([['Stock list', null], [], ...rows], { merged: ['A1:B1'] })),
    `## S\n\nStock list\n\n${table}`,
  );
  t.is(
    await textOf('xlsx', await bookOf([['Name'], ['Ann', 5], ['Bo', 6]])),
    '## S\n\n| Name |  |\n| --- | --- |\n| Ann | 5 |\n| Bo | 6 |\n\n',
  );
  t.is(await textOf('xlsx', await bookOf([['a'], ['b']])), '## S\n\n| a |\n| --- |\n| b |\n\n');
});

test('title lines before the header of a CSV file stay text', async (t) => {
  const table = '| Site | Manager |\n| --- | --- |\n| Oslo | Kari |\n';
  for (const titles of ['Stock list\n\n', 'Stock list;;\n;;\n', '"Stock\nlist"\n'])
    t.is(await textOf('csv', `${titles}Site;Manager\nOslo;Kari\n`), `Stock list\n\n${table}`, titles);
  t.is(await textOf('csv', '# Stock\nof 2026\nSite,Manager\nOslo,Kari\n'), `\\# Stock\n\nof 2026\n\n${table}`);
  t.is(await textOf('csv', 'Name\nAnn\nBo\n'), '| Name |\n| --- |\n| Ann |\n| Bo |\n', 'a list');
  t.is(await textOf('csv', 'Name,\nAnn,5\n'), '| Name |  |\n| --- | --- |\n| Ann | 5 |\n', 'a header of one name');
  const many = 'x\n'.repeat(30);
  t.is(
    await textOf('csv', `${many}a,b\n`),
    `| x |\n| --- |\n${'| x |\n'.repeat(29)}| a | b |\n`,
    'too many to be titles',
  );
});

test('texts drawn on a sheet follow its table', async (t) => {
  const relations = (targets: [id: string, type: string, target: string][]) =>
    `<Relationships>${targets.map(([id, type, target]) => `<Relationship Id="${id}" Type="x/${type}" Target="${target}"/>`).join('')}</Relationships>`;
  const words = (text: string) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`;
  const beside = [
    {
      name: 'xl/worksheets/_rels/sheet1.xml.rels',
      content: relations([
        ['d', 'drawing', '../drawings/drawing1.xml'],
        ['c', 'comments', '../comments1.xml'],
      ]),
    },
    {
      name: 'xl/drawings/drawing1.xml',
      content: `<xdr:wsDr><xdr:sp><xdr:txBody>${words('Wear')}${words('gloves')}</xdr:txBody></xdr:sp></xdr:wsDr>`,
    },
    { name: 'xl/drawings/_rels/drawing1.xml.rels', content: relations([['k', 'chart', '../charts/chart1.xml']]) },
    { name: 'xl/charts/chart1.xml', content: `<c:chart><c:title>${words('Sales')}</c:title></c:chart>` },
    {
      name: 'xl/comments1.xml',
      content: '<comments><commentList><comment ref="A1"><text><t>check</t></text></comment></commentList></comments>',
    },
  ];
  const found = await read('xlsx', makeZip([...xlsxEntries([['a', `<row>${textCell('A1', 'x')}</row>`]]), ...beside]));
  t.is(found.text, '## a\n\n| x |\n| --- |\n\nWear\n\ngloves\n\nSales\n\n[1 comment not read]\n\n');
  const drawn = makeZip([...xlsxEntries([['a', '']]), ...beside.slice(0, 4)]);
  t.is(await textOf('xlsx', drawn), '## a\n\nWear\n\ngloves\n\nSales\n\n', 'a sheet without cells');
});

test('a row of data does not become part of the header', async (t) => {
  const corner = [
    [null, 'Contact', null],
    ['Ann', 'ann@x', 'Oslo'],
    ['Bob', 'bob@x', 'Bergen'],
  ];
  t.deepEqual(await sheet(corner, { merged: ['B1:C1'] }), [
    '|  | Contact | Contact |',
    '| Ann | ann@x | Oslo |',
    '| Bob | bob@x | Bergen |',
  ]);
  const merged = [
    ['Red', 'Ann'],
    [null, 'Bob'],
    ['Blue', 'Eve'],
  ];
  t.deepEqual(await sheet(merged, { merged: ['A1:A2'] }), ['| Red | Ann |', '| Red | Bob |', '| Blue | Eve |']);
  const sums = [
    [null, '2025', null],
    ['Site', 'Q1', 'Q2'],
    ['Oslo', 3, 4],
  ];
  t.deepEqual(await sheet(sums, { merged: ['B1:C1'] }), ['| Site | 2025 Q1 | 2025 Q2 |', '| Oslo | 3 | 4 |']);
});

/** Creates a workbook whose second sheet is a chart. */
function withChartSheet(chart: string, related: ZipEntry[] = []) {
  const part = (name: string, type: string, target: string) => ({
    name,
    content: `<Relationships><Relationship Id="r1" Type="x/${type}" Target="${target}"/></Relationships>`,
  });
  const entries = xlsxEntries([['Data', `<row>${textCell('A1', 'x')}</row>`]]).map((entry) =>
    entry.name === 'xl/workbook.xml'
      ? {
          ...entry,
          content: String(entry.content).replace('</sheets>', '<sheet name="Turnover" sheetId="9" r:id="x"/></sheets>'),
        }
      : entry,
  );
  return makeZip([
    ...withPart(entries, 'chartsheet', 'xl/chartsheets/sheet1.xml', '<chartsheet><drawing r:id="r1"/></chartsheet>'),
    part('xl/chartsheets/_rels/sheet1.xml.rels', 'drawing', '/xl/drawings/drawing1.xml'),
    { name: 'xl/drawings/drawing1.xml', content: '<xdr:wsDr><c:chart r:id="r1"/></xdr:wsDr>' },
    part('xl/drawings/_rels/drawing1.xml.rels', 'chart', '/xl/charts/chart1.xml'),
    { name: 'xl/charts/chart1.xml', content: chart },
    ...related,
  ]);
}

const points = (...values: (string | number)[]) =>
  `<c:strCache>${values.map((value, at) => `<c:pt idx="${at}"><c:v>${value}</c:v></c:pt>`).join('')}</c:strCache>`;

test('a chart sheet becomes a section with the title, categories and values of its chart', async (t) => {
  const title =
    '<c:title><c:tx><c:rich><a:p><a:r><a:t>Turnover peaked in May</a:t></a:r></a:p></c:rich></c:tx></c:title>';
  const levels = `<c:multiLvlStrCache><c:lvl>${points('April', 'May')}</c:lvl><c:lvl><c:pt idx="0"><c:v>2025</c:v></c:pt></c:lvl></c:multiLvlStrCache>`;
  const chart = `<c:chartSpace><c:chart>${title}<c:ser><c:tx>${points('Shops')}</c:tx><c:cat>${levels}</c:cat><c:val>${points(3, 9)}</c:val></c:ser><c:valAx><c:title><c:tx>${points('Euros')}</c:tx></c:title></c:valAx></c:chart></c:chartSpace>`;
  t.is(
    await textOf('xlsx', withChartSheet(chart)),
    '## Data\n\n| x |\n| --- |\n\n## Turnover\n\nTurnover peaked in May\n\nShops: 2025 April 3; May 9\n\nEuros\n\n',
  );
});

test('a chart without its values is reported', async (t) => {
  const chart = `<c:chart><c:ser><c:tx>${points('Shops')}</c:tx><c:val><c:numRef><c:f>Data!A1:A9</c:f></c:numRef></c:val></c:ser></c:chart>`;
  const { text, losses } = await read('xlsx', withChartSheet(chart));
  t.true(text.endsWith('Shops\n\n[values of 1 chart not read: the file does not hold them]\n\n'));
  t.is(losses?.[0]?.kind, 'chartValues');
});

test('cell text that the reader misses is counted as lost', async (t) => {
  const row = `<row>${textCell('A1', 'x')}<c r="B1" t="n"><is><t>this is not a number at all</t></is></c></row>`;
  const { text, losses } = await read('xlsx', makeXlsx([['a', row]]));
  t.is(text, '## a\n\n| x |\n| --- |\n\n[21 characters of the workbook could not be read]\n\n');
  t.is(losses?.[0]?.kind, 'characters');
});

test('two cells at one position are reported as a loss', async (t) => {
  const row = `<row>${textCell('A1', 'first')}${textCell('A1', 'second')}${textCell('B1', 'b')}</row>`;
  const { text, losses } = await read('xlsx', makeXlsx([['a', row]]));
  t.is(text, '## a\n\n| second | b |\n| --- | --- |\n\n[5 characters of cells with the same place not read]\n\n');
  t.is(losses?.[0]?.kind, 'characters');
  const backwards = `<row>${textCell('C1', 'c')}${textCell('B1', 'b')}${textCell('A1', 'a')}</row>`;
  t.deepEqual(rowsOf((await read('xlsx', makeXlsx([['a', backwards]]))).text), ['| a | b | c |']);
});

const mergedSheet = (rows: string, ranges: string[]) =>
  makeZip(
    xlsxEntries([['a', rows]]).map((entry) => ({
      ...entry,
      content: String(entry.content).replace(
        '</sheetData>',
        `</sheetData><mergeCells>${ranges.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`,
      ),
    })),
  );

test('the size and number of merged ranges are bounded', async (t) => {
  const rows = Array.from(
    { length: 400 },
    (_, at) => `<row r="${at + 1}">${at === 0 ? textCell('A1', 'x') : ''}${textCell(`CV${at + 1}`, 'y')}</row>`,
  ).join('');
  const all = await read('xlsx', mergedSheet(rows, ['A1:XFD1048576']));
  t.is(all.losses, undefined);
  t.is(rowsOf(all.text).length, 400);
  t.true(all.text.includes('| x | y |\n| x | y |'));
  const wide = `<row r="1">${Array.from({ length: 300 }, () => '<c><v>1</v></c>').join('')}</row>`.replace(
    '<v>1</v>',
    '<v>7</v>',
  );
  const many = await read(
    'xlsx',
    mergedSheet(
      wide,
      Array.from({ length: 120_000 }, () => 'A1:XFD1048576'),
    ),
  );
  t.is(many.losses?.[0]?.what, 'more than 1,000,000 merged cells: not all repeat their value');
  const wrong = ['', 'A1', 'B9:A1', 'A0:A0', 'A1:ZZZ9', ':', `A1:${'B'.repeat(1_000)}2`];
  const text = await textOf('xlsx', mergedSheet(`<row r="1">${textCell('A1', 'x')}</row>`, wrong.slice(0, 4)));
  t.is(text, '## a\n\n| x |\n| --- |\n\n');
});
