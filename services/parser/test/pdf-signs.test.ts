import { readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import test from 'ava';
import { getResolvedPDFJS } from 'unpdf';
import { documentReader } from '../src/document-reader.ts';
import { makePage, makePdf, pdfOf, streamOf } from './make-documents.ts';
import { read, reasonFor, textOf, usualLimits } from './read.ts';

const caseOf = (name: string) => readFileSync(new URL(`cases/${name}.pdf`, import.meta.url));
const warningsIn = async (bytes: Buffer) => (await read('pdf', bytes)).losses?.map(({ what }) => what);

/** Returns a page with text in a font that is not embedded and has only a predefined encoding. */
const inEncoding = (encoding: string, ordering: string, hexText: string) =>
  makePage(`BT /F1 12 Tf 72 700 Td <${hexText}> Tj ET`, {
    entries: '/Resources << /Font << /F1 5 0 R >> >>',
    others: [
      `<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /${encoding} /DescendantFonts [6 0 R] >>`,
      `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Any /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 2 >> /DW 1000 /FontDescriptor 7 0 R >>`,
      '<< /Type /FontDescriptor /FontName /Any /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
    ],
  });
const utf16 = (text: string) => Buffer.from(text, 'utf16le').swap16().toString('hex');

test('a PDF with a Chinese encoding and without a map to characters is read', async (t) => {
  t.is(await textOf('pdf', caseOf('mixed')), 'Notice to all tenants.\n通知：电梯停用。\n\n');
});

test('PDFs with Japanese, Korean and Chinese encodings are read, by codes and by glyphs', async (t) => {
  for (const [encoding, ordering, hexText, wanted] of [
    ['90ms-RKSJ-H', 'Japan1', '90bf8b81 8f91', '請求書'],
    ['KSCms-UHC-H', 'Korea1', 'c7d1b1b9beee', '한국어'],
    ['GBK-EUC-H', 'GB1', 'cda8d6aa', '通知'],
    ['ETen-B5-H', 'CNS1', 'a4a4a4e5', '中文'],
    ['UniJIS-UTF16-H', 'Japan1', utf16('お問い合わせ'), 'お問い合わせ'],
    ['UniKS-UCS2-H', 'Korea1', utf16('서울'), '서울'],
    ['Identity-H', 'Japan1', '04650466', '亜唖'],
  ] as const) {
    t.is((await textOf('pdf', inEncoding(encoding, ordering, hexText))).trim(), wanted, encoding);
  }
});

test('the encodings have the same version as pdf.js', async (t) => {
  const { default: manifest } = await import('pdfjs-dist/package.json', { with: { type: 'json' } });
  t.is((await getResolvedPDFJS()).version, manifest.version);
});

test('a vertical column is read as a line', async (t) => {
  t.is((await textOf('pdf', inEncoding('UniJIS-UTF16-V', 'Japan1', utf16('縦書きの文')))).trim(), '縦書きの文');
});

test('the reader process has the encodings, and a file cannot use another file as an encoding', async (t) => {
  const reader = documentReader({ ...usualLimits, maxProcesses: 1 });
  t.teardown(() => reader.stop());
  const of = { tenantId: 1, signal: new AbortController().signal };
  t.is(
    (await reader.read({ type: 'pdf', bytes: caseOf('mixed') }, of)).text,
    'Notice to all tenants.\n通知：电梯停用。\n\n',
  );
  const hostile = inEncoding('..#2f..#2f..#2f..#2fetc#2fpasswd', 'GB1', 'cda8d6aa');
  await t.throwsAsync(reader.read({ type: 'pdf', bytes: hostile }, of), { name: 'FileProblem' });
});

const simpleFont = (type: string, differences: string, more = '') =>
  `<< /Type /Font /Subtype /${type} /BaseFont /Any /FirstChar 0 /LastChar 255 /Widths [${'500 '.repeat(256)}] /Encoding << /Type /Encoding /Differences [${differences}] >> ${more} >>`;
const bitmapFont = (codes: number[]) =>
  simpleFont(
    'Type3',
    codes.map((code) => `${code}/a${code}`).join(' '),
    `/FontBBox [0 0 500 700] /FontMatrix [0.001 0 0 0.001 0 0] /Resources << >> /CharProcs << ${codes.map((code) => `/a${code} 6 0 R`).join(' ')} >>`,
  );
const glyph = streamOf('500 0 0 0 500 700 d1 50 0 400 600 re f');
const inBitmapFont = (text: string) =>
  makePage(`BT /F1 12 Tf 50 700 Td <${Buffer.from(text, 'latin1').toString('hex')}> Tj ET`, {
    entries: '/Resources << /Font << /F1 5 0 R >> >>',
    others: [bitmapFont([...new Set(Buffer.from(text, 'latin1'))]), glyph],
  });

test("ligatures of TeX's fonts whose glyphs have no names are letters", async (t) => {
  t.is(await textOf('pdf', caseOf('tex')), 'the signifier is signified\n\n');
  t.is(
    (await textOf('pdf', inBitmapFont('a\x1cnal e\x1bort of the o\x1eces, \x10re\x1decting\x11 pages 3\x154'))).trim(),
    'a final effort of the offices, “reflecting” pages 3–4'.replace('a f', 'af'),
  );
});

test('a font that cannot be read is reported, and the other text is read', async (t) => {
  const bytes = makePage('BT /F2 12 Tf 72 720 Td (Before.) Tj ET BT /F1 12 Tf 72 700 Td <cda8d6aa> Tj ET', {
    entries: '/Resources << /Font << /F1 5 0 R /F2 7 0 R >> >>',
    others: [
      '<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /No-Such-H /DescendantFonts [6 0 R] >>',
      '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Any /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> /DW 1000 >>',
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ],
  });
  const [damaged, whole] = await Promise.all([read('pdf', bytes), read('pdf', caseOf('mixed'))]);
  t.deepEqual(damaged.losses, [{ kind: 'unknownSigns', what: 'text is left out: 1 font of the file cannot be read' }]);
  t.regex(damaged.text, /^Before\./u);
  t.deepEqual(whole.losses, []);
});

test('unnamed glyphs are counted and omitted, and the rest is read', async (t) => {
  const text = 'Anyone can read \x02\x03\x04\x05\x06\x07\x08 this, and \x02\x03\x04\x05\x06 not.';
  const { text: read12, losses } = await read('pdf', inBitmapFont(text));
  t.is(read12.split('\n')[0]?.replaceAll(/ +/gu, ' '), 'Anyone can read this, and not.');
  t.deepEqual(losses, [
    {
      kind: 'unknownSigns',
      what: '12 signs on 1 of 1 page are left out: their fonts do not say which characters they are',
    },
  ]);
});

const unnamedFont = [
  '<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [6 0 R] >>',
  '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 500 /FontDescriptor 7 0 R >>',
  '<< /Type /FontDescriptor /FontName /Any /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
];
/** The text `Hello world.` as glyph numbers of a common font, with its spaces. */
const unnamedText = '<002b0048004f004f00520003005a00520055004f00470003000f0003>';

test('a text with only wrong characters is omitted, and the other text is read', async (t) => {
  const bytes = makePage(`BT /F2 12 Tf 72 720 Td (Before.) Tj ET BT /F1 12 Tf 72 700 Td ${unnamedText} Tj ET`, {
    entries: '/Resources << /Font << /F1 5 0 R /F2 8 0 R >> >>',
    others: [...unnamedFont, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'],
  });
  t.is(
    await textOf('pdf', bytes),
    'Before.\n\n[14 signs on 1 of 1 page are left out: their fonts do not say which characters they are]\n\n',
  );
});

test('a PDF whose fonts name no glyphs is reported as such, not as a scan', async (t) => {
  const bytes = makePage(`BT /F1 12 Tf 72 700 Td ${unnamedText} Tj ET`, {
    entries: '/Resources << /Font << /F1 5 0 R >> >>',
    others: unnamedFont,
  });
  t.is(
    await reasonFor('pdf', bytes),
    'The text of the file cannot be read: its fonts do not say which characters it shows. Upload a version with recognised text (OCR).',
  );
});

const picture = streamOf(
  deflateSync(Buffer.alloc(200 * 200, 255)),
  '/Type /XObject /Subtype /Image /Width 200 /Height 200 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode',
);
const shapes = Array.from({ length: 60 }, (_, n) => `${n} ${n} m ${n + 9} ${n + 5} l ${n} 9 l f`).join('\n');

/** Creates a PDF with a page of text, followed by one page for each of these content streams. */
function withPages(contents: string[], first = 'BT /F1 11 Tf 50 700 Td (Some text.) Tj ET'): Buffer {
  const all = [first, ...contents];
  const places = all.map((_, n) => 5 + 2 * n);
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${places.map((place) => `${place} 0 R`).join(' ')}] /Count ${all.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    picture,
    ...all.flatMap((content, n) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> /XObject << /I 4 0 R >> >> /Contents ${(places[n] ?? 0) + 1} 0 R >>`,
      streamOf(content),
    ]),
  ]);
}

const scan = 'q 595 0 0 842 0 0 cm /I Do Q';

test('pages without text are reported by what they show', async (t) => {
  t.deepEqual(await warningsIn(withPages([scan, scan, ''])), ['2 of 4 pages have no text: scanned']);
  t.deepEqual(await warningsIn(withPages([shapes])), ['1 of 2 pages has no text: drawn']);
  t.deepEqual(await warningsIn(withPages(['q 1 0 0 -1 0 842 cm 50 0 0 20 30 30 cm /I Do Q'])), []);
  t.deepEqual(await warningsIn(withPages(['q 0.24 0 0 0.24 0 0 cm q 2480 0 0 3508 0 0 cm /I Do Q Q'])), [
    '1 of 2 pages has no text: scanned',
  ]);
  t.true((await textOf('pdf', withPages([scan]))).endsWith('Some text.\n\n\n[1 of 2 pages has no text: scanned]\n\n'));
});

test('a scan with a stamp or a page number is reported, and a picture next to text is not', async (t) => {
  const words = (text: string) => `BT /F1 11 Tf 50 30 Td (${text}) Tj ET`;
  t.deepEqual(await warningsIn(withPages([`${scan} ${words('Page 2 of 3')}`, `${words('RECEIVED')} ${scan}`])), [
    '2 of 3 pages have hardly any text: scanned',
  ]);
  const logo = `q 200 0 0 100 30 700 cm /I Do Q ${words('Annual report')}`;
  const recognised = `${scan} ${words('Text that was recognised on the page. '.repeat(4))}`;
  const drawn = `q 595 0 0 842 0 0 cm 0 0 1 1 re f Q ${words('On colour')}`;
  t.deepEqual(await warningsIn(withPages([logo, recognised, drawn])), []);
});

test('a file is reported as a scan only if its pages are pictures', async (t) => {
  t.regex(await reasonFor('pdf', withPages([], scan)), /looks like a scan/u);
  for (const bytes of [withPages([], shapes), withPages([''], ''), makePdf([[], []])]) {
    t.is(
      await reasonFor('pdf', bytes),
      'The pages of the file have no text: they are blank, or all on them is drawn. Upload a version with text.',
    );
  }
});

test('bullets and boxes of symbol fonts are known signs', async (t) => {
  const { text, losses } = await read(
    'pdf',
    makePdf([[{ text: '\uf0b7 One' }, { text: '\uf0fe Two' }, { text: '\uf054\uf068\uf065' }]]),
  );
  t.is(text, '- One\n☑ Two\nThe\n\n');
  t.deepEqual(losses, []);
});

test('ligatures, old-style figures and small capitals with private codes are letters and digits', async (t) => {
  const { text, losses } = await read(
    'pdf',
    makePdf([[{ text: 'waf\uf002e, \uf001ne \uf002at \uf731\uf739 A\uf763\uf774' }]]),
  );
  t.is(text, 'waffle, fine flat 19 Act\n\n');
  t.deepEqual(losses, []);
});

test('a single unnamed glyph is reported, however long the text is', async (t) => {
  const line = { text: 'Words of a long text that can all be read. '.repeat(2) };
  const { text, losses } = await read(
    'pdf',
    makePdf([Array.from({ length: 40 }, () => line), [{ text: 'Pay \uf8d1 now.' }]]),
  );
  t.regex(text, /\nPay +now\.\n/u);
  t.deepEqual(losses, [
    {
      kind: 'unknownSigns',
      what: '1 sign on 1 of 2 pages is left out: its font does not say which character it is',
    },
  ]);
});
