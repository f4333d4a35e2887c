import { readFileSync } from 'node:fs';
import test from 'ava';
import { makePage, makePdf, type PdfLine, streamOf } from './make-documents.ts';
import { textOf } from './read.ts';

const caseOf = (name: string) => readFileSync(new URL(`cases/${name}.pdf`, import.meta.url));
const onePage = (lines: PdfLine[]) => textOf('pdf', makePdf([lines]));
/** Returns lines for these texts, from top to bottom, with the distance `by` between two lines. */
const down = (
  texts: string[],
  { from = 760, by = 14, ...rest }: Partial<PdfLine> & { from?: number; by?: number } = {},
) => texts.map((text, n) => ({ text, y: from - n * by, ...rest }));
/** Returns the cells of these columns row by row, in the order in which typesetting programs write tables. */
const byRow = (columns: string[][], xs: number[], options: Parameters<typeof down>[1] = {}) => {
  const placed = columns.map((texts, n) => down(texts, { ...options, x: xs[n] ?? 50 }));
  return (placed[0] ?? []).flatMap((_, row) => placed.flatMap((column) => column[row] ?? []));
};

test('columns that were written row by row are read one after the other', async (t) => {
  t.is(
    await textOf('pdf', caseOf('by-row')),
    'The committee reviewed the annual\nreport and approved the budget.\n\nMembers who cannot attend may\nname a deputy in writing.\n\n',
  );
});

const left = [
  'Waste is collected on each',
  'second Tuesday of a month',
  'unless that day is a',
  'holiday in this state.',
];
const right = [
  'Glass is not taken along,',
  'nor is anything that does',
  'not fit into the bin with',
  'its lid closed.',
];

test('three columns are read one after the other, between their title and closing line', async (t) => {
  const third = ['Questions are answered by', 'the office from nine to', 'twelve on each working', 'day but Friday.'];
  const columns = byRow([left, right, third], [50, 220, 390], { from: 700 });
  const lines = [
    { text: 'All about waste and where it goes in this town of ours', y: 740 },
    ...columns,
    { text: 'The office thanks you all for your help in these matters.', y: 600 },
  ];
  t.is(
    await onePage(lines),
    `All about waste and where it goes in this town of ours\n\n${left.join('\n')}\n\n${right.join('\n')}\n\n${third.join('\n')}\n\nThe office thanks you all for your help in these matters.\n\n`,
  );
});

test('columns whose lines have different heights or numbers are read one after the other', async (t) => {
  const uneven = byRow([left, right.slice(0, 3)], [50, 300]).map((line) =>
    line.x === 300 ? { ...line, y: (line.y ?? 0) - 5 } : line,
  );
  t.is(await onePage(uneven), `${left.join('\n')}\n\n${right.slice(0, 3).join('\n')}\n\n`);
});

test('a sentence that continues in the next column is one paragraph', async (t) => {
  const [top, rest] = [left.slice(0, 2), left.slice(2)];
  t.is(await onePage(byRow([top, rest], [50, 300])), `${left.join('\n')}\n\n`);
});

test('rows of a table stay rows', async (t) => {
  const table = byRow(
    [
      ['Width', 'Height', 'Weight with its box'],
      ['20 cm', '35 cm', '4 kg'],
    ],
    [50, 300],
  );
  t.is(await onePage(table), 'Width 20 cm\nHeight 35 cm\nWeight with its box 4 kg\n\n');
  const long = byRow(
    [
      ['Days after the order was placed', 'Returns of goods without fault', 'Delivery to the islands'],
      ['Two to three working days', 'Thirty days from the receipt', 'Costs five euros more'],
    ],
    [50, 300],
  );
  t.is((await onePage(long)).split('\n')[0], 'Days after the order was placed Two to three working days');
});

const glossary = (rows: [string, string][]) =>
  onePage(
    rows.flatMap(([term, meaning], n) =>
      [
        { text: term, x: 50, y: 760 - 13 * n, size: 10 },
        { text: meaning, x: 250, y: 760 - 13 * n, size: 10 },
      ].filter(({ text }) => text !== ''),
    ),
  );

test('terms and their definitions stay together, on one line or more', async (t) => {
  t.is(
    await glossary([
      ['late payment of rent', 'a fee of five euros is due for each'],
      ['', 'day after the third of the month'],
      ['early end of the lease', 'the deposit is kept in full and'],
      ['', 'the keys are to be given back'],
      ['repair of the heating', 'the landlord pays for it within'],
    ]),
    'late payment of rent a fee of five euros is due for each\nday after the third of the month\nearly end of the lease the deposit is kept in full and\nthe keys are to be given back\nrepair of the heating the landlord pays for it within\n\n',
  );
  t.is(
    await glossary([
      ['Term', 'Meaning'],
      ['late payment of rent', 'a fee of five euros is due'],
      ['early end of the lease', 'the deposit is kept in full'],
      ['repair of the heating', 'the landlord pays for it'],
    ]),
    'Term Meaning\nlate payment of rent a fee of five euros is due\nearly end of the lease the deposit is kept in full\nrepair of the heating the landlord pays for it\n\n',
  );
  t.is(
    await glossary([
      ['Late payment of the', 'A fee of five euros is due'],
      ['rent for a flat', 'for each day.'],
      ['Early end of the', 'The deposit is kept in full'],
      ['lease by a tenant', 'and so are the keys.'],
      ['Repair of the old', 'The landlord pays for it'],
      ['heating in winter', 'within a week.'],
    ]),
    'Late payment of the rent for a flat A fee of five euros is due\nfor each day.\nEarly end of the lease by a tenant The deposit is kept in full\nand so are the keys.\nRepair of the old heating in winter The landlord pays for it\nwithin a week.\n\n',
  );
});

test('columns of prose with a blank line, or with sentences in one row, are read one after the other', async (t) => {
  const blank = await glossary([
    ['Waste is collected on each', 'Glass is not taken along,'],
    ['second Tuesday of a month.', 'nor is anything that does'],
    ['', 'not fit into the bin with'],
    ['Nobody comes on a day that', 'its lid closed, or that is'],
    ['is a holiday in this state.', 'too heavy for one person.'],
  ]);
  t.true(blank.startsWith('Waste is collected on each\nsecond Tuesday of a month.\n'), blank);
  const level = await glossary([
    ['Waste is collected on each', 'Glass is not taken along,'],
    ['second Tuesday of a month.', 'nor is anything else.'],
    ['Nobody comes on a day that', 'Lids are to be closed by'],
    ['is a holiday in this state.', 'those who use a bin.'],
    ['Complaints are to be sent', 'Bins that are too heavy'],
    ['to the office of the town.', 'for one person stay.'],
  ]);
  t.true(level.startsWith('Waste is collected on each\nsecond Tuesday of a month.\nNobody'), level);
});

test('columns of a script without punctuation are read one after the other, and its short terms stay beside their definitions', async (t) => {
  const [rent, deposit] = ['ผู้เช่าต้องชำระค่าเช่าทุกเดือน', 'เงินประกันคืนเมื่อหมดสัญญาเช่า'];
  const prose = await glossary([1, 2, 3, 4].map((n) => [`${rent}${n}`, `${deposit}${n}`]));
  t.true(prose.startsWith(`${rent}1\n${rent}2\n`), prose);
  const terms = await glossary(
    ['提前解除合同的费用', '逾期支付租金的费用', '房屋供暖设备的修理'].map((text) => [text, deposit]),
  );
  t.true(terms.startsWith(`提前解除合同的费用 ${deposit}\n`), terms);
});

test('words hyphenated at a line end are joined, and other words keep their hyphens', async (t) => {
  t.is(
    await textOf('pdf', caseOf('hyphens')),
    'Each site keeps its own configuration of the pumps. The team checks\nit monthly. It uses state-of-the-art tools. Postal code 12345-6789.\n\n',
  );
});

test('hyphens that belong to words are kept, as far as the document or the words show', async (t) => {
  const rows = [
    'This well-known shop is Anglo-',
    'Saxon. It is well-',
    'known and self-',
    'service, for our customers are wel-',
    'come from page 12-',
    '14 on; see https://shop.example/a-',
    'b for pre-',
    'and post-war goods, ver-',
    'packt. A line - ',
    'and a dash.',
  ];
  t.is(
    await onePage(down(rows)),
    'This well-known shop is Anglo-Saxon. It is well-known and self-service, for our customers are welcome from page 12-14 on; see https://shop.example/a-b for pre- and post-war goods, verpackt. A line -\nand a dash.\n\n',
  );
});

test('numbers in words and compounds with equal vowels keep their hyphens', async (t) => {
  const rows = [
    'Within twenty-',
    'five days the anti-',
    'inflammatory drug of the long-',
    'term plan goes to the anti-',
    'que shop.',
  ];
  t.is(
    await onePage(down(rows)),
    'Within twenty-five days the anti-inflammatory drug of the long-term plan goes to the antique shop.\n\n',
  );
});

test('widely spaced letters are joined to words, and letters of an index are not', async (t) => {
  const wide = (text: string) =>
    textOf(
      'pdf',
      makePage(`BT /F1 12 Tf 4 Tc 50 700 Td (${text}) Tj ET`, {
        entries: '/Resources << /Font << /F1 5 0 R >> >>',
        others: ['<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'],
      }),
    );
  t.is((await wide('HEADLINE IS SPACED')).trim(), 'HEADLINE IS SPACED');
  t.is((await onePage([{ text: 'A B C D E F' }])).trim(), 'A B C D E F');
  t.is((await onePage([{ text: '4 2 3 1 9 8' }])).trim(), '4 2 3 1 9 8');
});

test('a compound at a line end is written as elsewhere in the document', async (t) => {
  const lines = [
    'The re-entry and the cooperation of',
    'all were tested: the re-',
    'entry first, then the co-',
    'operation.',
  ];
  t.is(
    await onePage(down(lines)),
    'The re-entry and the cooperation of\nall were tested: the re-entry first, then the cooperation.\n\n',
  );
});

test('hyphenated words in capitals and in titles are joined too', async (t) => {
  const title = down(['Regulations of Adminis-', 'tration'], { size: 24, by: 28 });
  t.true(
    (
      await onePage([
        ...title,
        ...down(['CONFIGU-', 'RATION OF THE PUMPS', 'is what this text is about, in many words.'], { from: 650 }),
      ])
    ).startsWith('# Regulations of Administration\n\nCONFIGURATION OF THE PUMPS\nis'),
  );
});

test('paragraphs are found by the line distance of the page', async (t) => {
  t.is(
    await textOf('pdf', caseOf('double')),
    'The tenant pays the rent by the third day of a month\nand keeps the garden in good order at all times\nunless the landlord has agreed to something else.\n\nNotice is three months to the end of a quarter\nand must be given in writing to be valid.\n\n',
  );
});

test('each page has its own line distance', async (t) => {
  const wide = (from: number) => down(['one line', 'two lines', 'three lines'], { from, by: 20, size: 10 });
  const narrow = (from: number) => down(['four lines', 'five lines', 'six lines'], { from, by: 11, size: 10 });
  const text = await textOf(
    'pdf',
    makePdf([
      [...wide(760), ...wide(680)],
      [...narrow(760), ...narrow(720)],
    ]),
  );
  t.is(
    text,
    'one line\ntwo lines\nthree lines\n\none line\ntwo lines\nthree lines\n\nfour lines\nfive lines\nsix lines\n\nfour lines\nfive lines\nsix lines\n\n',
  );
});

test('lines with one-and-a-half spacing are one paragraph, even on a page with few lines', async (t) => {
  const text = await textOf(
    'pdf',
    makePdf([
      down(['one', 'two', 'three', 'four', 'five'], { by: 21, size: 12 }),
      down(['six', 'seven'], { by: 21, size: 12 }),
    ]),
  );
  t.is(text, 'one\ntwo\nthree\nfour\nfive\n\nsix\nseven\n\n');
});

const body = 'Plain words of the body stand here and are longer than the title is.';

test('a title of two lines is one heading', async (t) => {
  t.is(
    await textOf('pdf', caseOf('heading')),
    `# Trace-based Type Specialization for Dynamic Languages\n\n${body}\n\n`,
  );
});

test('a title of three lines is one heading; lines with another size, number or position are separate headings', async (t) => {
  const title = down(['A Guide to the Care', 'of Machines that', 'Nobody Uses'], { size: 22, by: 26 });
  const headings = [
    { text: '1. Pumps', y: 600, size: 16 },
    { text: '2. Valves', y: 580, size: 16 },
    { text: 'Lids', y: 500, size: 16 },
  ];
  t.is(
    await onePage([
      ...title,
      { text: 'Second edition', y: 670, size: 16 },
      ...headings,
      ...down([body, body, body], { from: 450 }),
    ]),
    `# A Guide to the Care of Machines that Nobody Uses\n\n## Second edition\n\n## 1. Pumps\n\n## 2. Valves\n\n## Lids\n\n${body}\n${body}\n${body}\n\n`,
  );
});

test('right-to-left words that were placed one by one are read in order', async (t) => {
  t.is(await textOf('pdf', caseOf('rtl')), 'שלום עולם טוב\n\n');
});

const shown = (word: string) => [...word].toReversed().join('');

test('right-to-left words are read in order, however they were written, also with numbers among them', async (t) => {
  const [peace, world, year] = ['שלום', 'עולם', 'שנה'];
  const words = [
    { text: shown(peace), x: 400 },
    { text: shown(world), x: 340 },
    { text: '2026', x: 300 },
    { text: 'ABC', x: 270 },
    { text: shown(year), x: 220 },
  ].map((word) => ({ ...word, y: 700, size: 14 }));
  const wanted = `${peace} ${world} ABC 2026 ${year}\n\n`;
  t.is(await onePage(words), wanted);
  t.is(await onePage(words.toReversed()), wanted);
});

/** Returns texts at the given positions, in file order. Neighbouring texts have different fonts, as browsers write right-to-left lines. */
const placed = (parts: [x: number, text: string][]) =>
  parts.map(([x, text], n) => ({ x, text, y: 700, size: 12 + 0.01 * (n % 2) }));

test('Arabic letters are read whatever their form within the word, and words contain no spaces', async (t) => {
  const letters = ['\ufede', '\ufe8e', '\ufef3', '\u0631']; // the word riyal, last letter first
  const price = letters.map((text, n): [number, string] => [100 + 6 * n, text]);
  const rent: [number, string][] = ['\u0631', '\ufe8e', '\ufea0', '\ufef3', '\ufef9', '\u0627'].map((text, n) => [
    154 + 6 * n,
    text,
  ]);
  const page = placed([...price, [124, ' '], [127, '1200'], [151, ' '], ...rent]);
  t.is((await onePage(page)).trim(), '\u0627\u0644\u0625\u064a\u062c\u0627\u0631 1200 \u0631\u064a\u0627\u0644');
  t.is((await onePage(placed([[100, '\ufe70\ufe8d']]))).trim().includes(' '), false);
});

test('a full stop after a number, and marks in right-to-left text, are at their place in reading order', async (t) => {
  const [until, day, shekel] = ['\u05e2\u05d3', '\u05d9\u05d5\u05dd', ['\u05d7', '\u05e9']] as const;
  const after = (stop: [number, string][]) =>
    placed([
      ...stop,
      [118, ' '],
      [121, shown(day)],
      [139, ' '],
      [142, shown(until)],
      [154, ' '],
      [157, shekel[0]],
      [163, '"'],
      [169, shekel[1]],
    ]);
  const wanted = `${shekel[1]}"${shekel[0]} ${until} ${day} 10.`;
  t.is((await onePage(after([[100, '.10']]))).trim(), wanted);
  t.is(
    (
      await onePage(
        after([
          [100, '.'],
          [106, '10'],
        ]),
      )
    ).trim(),
    wanted,
  );
});

test('a left-to-right line with one word of another script is unchanged', async (t) => {
  const words = [
    { text: 'The word', x: 50 },
    { text: shown('שלום'), x: 100 },
    { text: 'means peace and is a greeting.', x: 130 },
  ];
  t.is(await onePage(words.map((word) => ({ ...word, y: 700 }))), 'The word שלום means peace and is a greeting.\n\n');
});

test('a text that is drawn twice to look bold is read once', async (t) => {
  t.is(
    await onePage([
      { text: 'Attention', y: 700 },
      { text: 'Attention', y: 700, x: 50.4 },
    ]),
    'Attention\n\n',
  );
});

/** Creates a page that draws the texts of `onPage` directly, and each text of `inForms` as a form, like a flattened form field. */
function withForms(onPage: [x: number, y: number, text: string][], inForms: [x: number, y: number, text: string][]) {
  const draw = ([x, y, text]: [number, number, string]) => `BT /F1 12 Tf 1 0 0 1 ${x} ${y} Tm (${text}) Tj ET`;
  const names = inForms.map((_, n) => `/X${n} ${6 + n} 0 R`).join(' ');
  return makePage([...onPage.map(draw), ...inForms.map((_, n) => `/X${n} Do`)].join('\n'), {
    entries: `/Resources << /Font << /F1 5 0 R >> /XObject << ${names} >> >>`,
    others: [
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
      ...inForms.map((form) =>
        streamOf(
          draw(form),
          '/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /Font << /F1 5 0 R >> >>',
        ),
      ),
    ],
  });
}

test('texts of form objects are separate lines and words', async (t) => {
  const cells = withForms(
    [],
    [
      [60, 650, 'Invoice 4711'],
      [60, 630, '300.00'],
      [60, 610, '200.00'],
    ],
  );
  t.is(await textOf('pdf', cells), 'Invoice 4711\n\n300.00\n\n200.00\n\n');
  const stamp = withForms([[60, 700, 'The rent is 900']], [[60, 650, 'Notice is three months']]);
  t.is(await textOf('pdf', stamp), 'The rent is 900\n\nNotice is three months\n\n');
  const beside = withForms(
    [[60, 700, 'Rent:']],
    [
      [92, 700, '900'],
      [120, 699, 'euros'],
      [100, 690, 'a month'],
    ],
  );
  t.is(await textOf('pdf', beside), 'Rent: 900 euros\na month\n\n');
  t.is((await textOf('pdf', withForms([[60, 700, 'Amount 1200']], [[110, 700, '300']]))).trim(), 'Amount 1200 300');
});

test('superscripts, subscripts and large initials stay in their row', async (t) => {
  const row = [
    { text: 'H', size: 12, x: 50 },
    { text: '2', size: 7, x: 56, y: 697 },
    { text: 'O at 10', size: 12, x: 59.5 },
    { text: '6', size: 7, x: 101.5, y: 705 },
    { text: 'units', size: 12, x: 108 },
  ].map((part) => ({ y: 700, ...part }));
  t.is((await onePage(row)).trim(), 'H2O at 106 units');
  const initial = [
    { text: 'T', size: 36, x: 50, y: 600 },
    { text: 'he rent', size: 12, x: 68, y: 616 },
  ];
  t.regex(await onePage(initial), /The rent/u);
});
