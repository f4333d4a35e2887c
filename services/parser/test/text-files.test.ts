import test from 'ava';
import { parse } from 'csv-parse/sync';
import { delimiterOf } from '../src/read-csv.ts';
import { scanCsv } from '../src/scan-csv.ts';
import { textParts } from '../src/text-parts.ts';
import { makePdf, makePlainPdf } from './make-documents.ts';
import { reasonFor, textOf } from './read.ts';

test('a CSV file is one table with its first record as header, whatever its delimiter', async (t) => {
  const table = '| name | price |\n| --- | --- |\n| tea | 3,5 |\n| a;b | 4 |\n';
  t.is(await textOf('csv', 'name,price\ntea,"3,5"\na;b,4\n'), table);
  t.is(await textOf('csv', 'name;price\r\ntea;3,5\r\n"a;b";4'), table);
  t.is(await textOf('csv', 'name\tprice\rtea\t3,5\ra;b\t4'), table);
  t.is(await textOf('csv', 'sep=|\nname|price\ntea|3,5\na;b|4\n'), table);
  t.is(delimiterOf('a sentence, with a comma\nx;y\nz;1\n'), ';');
});

test('names with their values before the header of a CSV file are text', async (t) => {
  const bank = [
    'Kontonummer;DE12 3456',
    'Kontostand:;1.234,56 EUR',
    '',
    'Buchungstag;Vorgang;Konto;Betrag',
    '02.01.2026;Miete;1;-850,00',
    '05.01.2026;Gehalt;1;2500',
  ].join('\n');
  t.is(
    await textOf('csv', bank),
    'Kontonummer: DE12 3456\n\nKontostand: 1.234,56 EUR\n\n| Buchungstag | Vorgang | Konto | Betrag |\n| --- | --- | --- | --- |\n| 02.01.2026 | Miete | 1 | -850,00 |\n| 05.01.2026 | Gehalt | 1 | 2500 |\n',
  );
  t.true((await textOf('csv', 'x,y\nr1,5,6\nr2,7,8\n')).startsWith('| x | y |\n'), 'a header without the first name');
});

test('pipes and line breaks in cells are escaped, so that each record is one row', async (t) => {
  t.is(
    await textOf('csv', 'a,b\n"one|two","line 1\r\nline 2"\n"he said ""no""",5" pipe\n'),
    '| a | b |\n| --- | --- |\n| one\\|two | line 1 line 2 |\n| he said "no" | 5" pipe |\n',
  );
});

test('blank records are omitted, and short records are padded to the width of the header', async (t) => {
  t.is(
    await textOf('csv', '\n,,\na,b,c\n,,\n1\n\n1,2,3,4\n'),
    '| a | b | c |\n| --- | --- | --- |\n| 1 |  |  |\n| 1 | 2 | 3 | 4 |\n',
  );
});

test('regular CSV is scanned with the same result as csv-parse, and irregular CSV is left to csv-parse', (t) => {
  const options = { relax_column_count: true, relax_quotes: true, record_delimiter: '\n' };
  const pieces = [
    'a',
    'b c',
    '"x"',
    '"y,z"',
    '"p""q"',
    '"l\nm"',
    '""',
    '',
    ',',
    ',',
    ',',
    '\n',
    '\n',
    '5" pipe',
    'ü👍',
  ];
  let seed = 7;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed;
  };
  let regular = 0;
  for (let round = 0; round < 3_000; round += 1) {
    const text = Array.from({ length: random() % 12 }, () => pieces[random() % pieces.length]).join('');
    const records: string[][] = [];
    if (!scanCsv(text, ',', { maxCells: 100, write: (record) => records.push(record) })) continue;
    regular += 1;
    const filled = (all: string[][]) => all.filter(([first, ...rest]) => first !== '' || rest.length > 0);
    t.deepEqual(filled(records), filled(parse(text, options)), JSON.stringify(text));
  }
  t.true(regular > 1_000);
});

test('text after a quoted cell is kept, as csv-parse keeps it', async (t) => {
  t.is(await textOf('csv', 'a,b\n"x" y,"2"\n'), '| a | b |\n| --- | --- |\n| "x" y | 2 |\n');
});

test('text in UTF-8, UTF-16 and Windows-1252 is decoded, with and without a byte order mark', async (t) => {
  const text = 'Grüße,€\n“x”,1\n';
  const table = '| Grüße | € |\n| --- | --- |\n| “x” | 1 |\n';
  const utf16 = Buffer.from(text, 'utf16le');
  const swapped = Buffer.from(utf16).swap16();
  const windows1252 = Buffer.from('Gr\xfc\xdfe,\x80\n\x93x\x94,1\n', 'latin1');
  const files = [
    Buffer.from(text),
    Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]),
    Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]),
    Buffer.concat([Buffer.from([0xfe, 0xff]), swapped]),
    windows1252,
  ];
  for (const file of files) t.is(await textOf('csv', file), table);
  const ascii = Buffer.from('a,b\n1,2\n', 'utf16le');
  t.is(await textOf('csv', ascii), await textOf('csv', 'a,b\n1,2\n'));
  t.is(await textOf('csv', ascii.swap16()), await textOf('csv', 'a,b\n1,2\n'));
});

test('Markdown is unchanged, except for characters that cannot be stored', async (t) => {
  const text = '# Heading\n\n- item\n\n| a | b |\n| --- | --- |\n\n日本語 العربية 👩‍👩‍👧\n';
  t.is(await textOf('markdown', text), text);
  t.is(await textOf('markdown', 'a\r\nb\rc\u0007\u001bd'), 'a\nb\ncd');
});

test('an empty file or a file of blanks is refused as empty', async (t) => {
  const reason = 'The file is empty: it has no text.';
  for (const type of ['csv', 'markdown'] as const) {
    for (const text of ['', ' \n\t\r\n ', '\ufeff']) t.is(await reasonFor(type, text), reason);
  }
  t.is(await reasonFor('csv', ',,\n,,\n'), reason);
  for (const type of ['pdf', 'docx', 'xlsx'] as const) t.is(await reasonFor(type, ''), reason);
});

test('a file that is not text is refused as mislabelled', async (t) => {
  const pdf = 'The file was uploaded as CSV text, but its content is a PDF document.';
  t.is(await reasonFor('csv', makePdf([])), pdf);
  t.is(await reasonFor('csv', makePlainPdf()), pdf);
  const png = Buffer.from('89504e470d0a1a0a0000', 'hex');
  t.is(await reasonFor('markdown', png), 'The file was uploaded as Markdown text, but its content is an image.');
  const other = Buffer.from('text\0text');
  t.is(
    await reasonFor('markdown', other),
    'The file was uploaded as Markdown text, but its content is something else.',
  );
});

test('a text about file formats is read as text', async (t) => {
  const ofPdf = [
    '# PDF\n\nIt begins with %PDF-1.7.',
    '%PDF-1.7 begins a PDF.',
    '\n%PDF-1.7 begins one, %%EOF ends it.',
  ];
  for (const text of [...ofPdf, 'GIF89a begins a picture.', 'BZh begins an archive.']) {
    t.is((await textOf('markdown', text)).trim(), text.trim());
  }
});

test('the length limit of a text counts characters', async (t) => {
  const reason = 'The text of the file is longer than 1,000 characters.';
  const limits = { maxCharacters: 1_000 };
  t.is(await textOf('markdown', '👍'.repeat(1_000), limits), '👍'.repeat(1_000));
  t.is(await reasonFor('markdown', '👍'.repeat(1_001), limits), reason);
  t.is(await reasonFor('markdown', 'a'.repeat(1_001), limits), reason);
});

test('a text is cut into parts below 1 MB, none within a character', (t) => {
  const text = `a${'👍'.repeat(300_000)}${'ह'.repeat(300_000)}`;
  const parts = [...textParts(text)];
  t.is(parts.join(''), text);
  for (const part of parts) {
    t.true(Buffer.byteLength(part) < 1_000_000);
    t.true(part.isWellFormed());
  }
  t.deepEqual([...textParts('ab👍', 3)], ['ab', '👍']);
});
