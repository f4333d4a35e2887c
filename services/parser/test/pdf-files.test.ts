import test from 'ava';
import { makePdf, makePlainPdf, pdfOf } from './make-documents.ts';
import { read, reasonFor, textOf } from './read.ts';

const lorem = 'The body of this document is in one size, and its lines are most of its text.';

test('the text of a PDF keeps its pages, with headings, paragraphs and lists', async (t) => {
  const { text, pageStarts } = await read(
    'pdf',
    makePdf([
      [
        { text: 'Manual', size: 24 },
        { text: lorem },
        { text: lorem },
        { text: 'Care', size: 16 },
        { text: '• Keep it dry.' },
      ],
      [],
      [{ text: lorem }, { text: 'After a gap.', y: 300 }],
    ]),
  );
  t.is(text, `# Manual\n\n${lorem}\n${lorem}\n\n## Care\n\n- Keep it dry.\n\n\n${lorem}\n\nAfter a gap.\n\n`);
  t.deepEqual(
    pageStarts.map((start) => text.slice(start, start + 5)),
    ['# Man', `\n${lorem.slice(0, 4)}`, lorem.slice(0, 5)],
  );
});

test('lines of signs in a PDF are not read as Markdown', async (t) => {
  const lines = ['# one', '| two', 'three', '-----', 'four', '=='].map((text) => ({ text }));
  t.is(await textOf('pdf', makePdf([lines])), '\\# one\n\\| two\nthree\n\\-----\nfour\n\\==\n\n');
});

test('a PDF in many scripts is read', async (t) => {
  const words = ['Ελληνικά', 'Кириллица', '日本語の文章', '한국어', 'हिन्दी', 'ไทย', 'Türkçe ğ', '👍 astral'];
  const text = await textOf('pdf', makePdf([words.map((word) => ({ text: word }))]));
  for (const word of words) t.true(text.includes(word), word);
  const rightToLeft = 'עברית';
  t.true((await textOf('pdf', makePdf([[{ text: [...rightToLeft].toReversed().join('') }]]))).includes(rightToLeft));
});

test('page starts are offsets in the whole text, also with characters beyond the BMP', async (t) => {
  const pages = Array.from({ length: 20 }, (_, index) => [{ text: `👍 page ${index + 1}` }]);
  const { text, pageStarts } = await read('pdf', makePdf(pages));
  t.is(pageStarts.length, 20);
  for (const [index, start] of pageStarts.entries()) t.true(text.slice(start).startsWith(`👍 page ${index + 1}\n`));
});

test('a PDF with a password is refused with this reason', async (t) => {
  const encrypted = pdfOf(
    [
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [] /Count 0 >>',
      `<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}> >>`,
    ],
    { trailer: '/Encrypt 3 0 R /ID [<00> <00>]' },
  );
  t.is(
    await reasonFor('pdf', encrypted),
    'The file is protected by a password. Remove the password and upload it again.',
  );
});

test('a truncated PDF is refused as damaged, wherever it was cut', async (t) => {
  const bytes = makePdf(Array.from({ length: 5 }, () => [{ text: lorem }]));
  const inLastPage = (bytes.lastIndexOf('endstream') - 30) / bytes.length;
  for (const share of [0.05, 0.3, 0.6, inLastPage, 0.95]) {
    t.is(
      await reasonFor('pdf', bytes.subarray(0, bytes.length * share)),
      'The file is damaged or incomplete: it cannot be read as a PDF document.',
      `${share}`,
    );
  }
});

test('a PDF with a truncated update is refused as damaged instead of being read without the update', async (t) => {
  const changed = Buffer.concat([
    makePdf([[{ text: lorem }]]),
    Buffer.from('9 0 obj\n<< >>\nendobj\n10 0 obj\n<< /Len'),
  ]);
  t.regex(await reasonFor('pdf', changed), /^The file is damaged or incomplete/);
});

test('a PDF may have other bytes before its header', async (t) => {
  const shifted = Buffer.concat([Buffer.from('HTTP/1.1 200 OK\n\n'), makePdf([[{ text: lorem }]])]);
  t.regex(await textOf('pdf', shifted), new RegExp(lorem.slice(0, 20), 'u'));
});

test('a PDF may consist of text only, with other text before its header', async (t) => {
  for (const before of ['', '\n', '\ufeff', 'HTTP/1.1 200 OK\n\n']) {
    const pdf = Buffer.concat([Buffer.from(before), makePlainPdf('Hello')]);
    t.is((await textOf('pdf', pdf)).trim(), 'Hello', before);
  }
});

test('a file that is not a PDF is refused as mislabelled', async (t) => {
  t.is(await reasonFor('pdf', 'text'), 'The file was uploaded as a PDF document, but its content is plain text.');
});
