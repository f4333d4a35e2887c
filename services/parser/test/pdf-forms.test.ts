import { readFileSync } from 'node:fs';
import test from 'ava';
import { makePage } from './make-documents.ts';
import { read, textOf } from './read.ts';

const caseOf = (name: string) => readFileSync(new URL(`cases/${name}.pdf`, import.meta.url));

/** Creates a page with lines of text and with form fields. `fields` are the dictionary entries of each field. */
function form(lines: [x: number, y: number, text: string][], fields: string[], more: string[] = []): Buffer {
  const shown = lines.map(([x, y, text]) => `BT /F1 11 Tf 1 0 0 1 ${x} ${y} Tm (${text}) Tj ET`).join('\n');
  const places = fields.map((_, n) => `${6 + n} 0 R`).join(' ');
  return makePage(shown, {
    entries: `/Resources << /Font << /F1 5 0 R >> >> /Annots [${places}]`,
    catalog: `/AcroForm << /Fields [${places}] /DA (/F1 11 Tf) /DR << /Font << /F1 5 0 R >> >> >>`,
    others: [
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
      ...fields.map((field) => (field.startsWith('<<') ? field : `<< /Type /Annot /Subtype /Widget /F 4 ${field} >>`)),
      ...more,
    ],
  });
}

const states = (on: string) => `/AP << /N << /${on} << >> /Off << >> >> >>`;

test('values of form fields are read beside their labels', async (t) => {
  t.is((await textOf('pdf', caseOf('form'))).trim(), 'Name: Ada Lovelace\n\nContract no.: K-4711');
});

test('check boxes and radio buttons are read with their state, and choices with their displayed name', async (t) => {
  const bytes = form(
    [
      [70, 700, 'Newsletter'],
      [70, 680, 'Post'],
      [50, 660, 'Payment:'],
      [150, 660, 'card'],
      [220, 660, 'invoice'],
      [50, 640, 'Country:'],
    ],
    [
      `/FT /Btn /T (a) /V /Yes /AS /Yes /Rect [50 698 62 710] ${states('Yes')}`,
      `/FT /Btn /T (b) /V /Off /AS /Off /Rect [50 678 62 690] ${states('Yes')}`,
      `/FT /Btn /Ff 49152 /T (c) /V /inv /AS /Off /Rect [130 658 142 670] ${states('card')}`,
      `/FT /Btn /Ff 49152 /T (d) /V /inv /AS /inv /Rect [200 658 212 670] ${states('inv')}`,
      '/FT /Ch /Ff 131072 /T (e) /V (de) /Opt [[(at) (Austria)] [(de) (Germany)]] /Rect [120 636 220 652]',
      '/FT /Btn /Ff 65536 /T (send) /Rect [300 636 350 652] /MK << /CA (Send) >>',
    ],
  );
  t.is(
    (await textOf('pdf', bytes)).replaceAll(/\n+/gu, '\n').trim(),
    '[x] Newsletter\n[ ] Post\nPayment: [ ] card [x] invoice\nCountry: Germany',
  );
});

test('a field below its label follows the label, and a field without a label on the page gets its own name', async (t) => {
  const bytes = form(
    [
      [50, 700, 'Your message'],
      [50, 400, 'Thank you.'],
    ],
    [
      '/FT /Tx /Ff 4096 /T (m) /V (First line\\nsecond line) /Rect [50 600 400 695]',
      '/FT /Tx /T (case) /TU (Case number) /V (77) /Rect [450 500 520 515]',
      '/FT /Tx /T (topmostSubform[0].Page1[0].f1_02[0]) /V (88) /Rect [450 480 520 495]',
    ],
  );
  t.is(
    (await textOf('pdf', bytes)).replaceAll(/\n+/gu, '\n').trim(),
    'Your message\nFirst line\nsecond line\nCase number: 77\n88\nThank you.',
  );
});

test('a value that is also drawn on the page, or by two annotations at one position, is read once', async (t) => {
  const twice = '/FT /Tx /T (n) /V (Ada) /Rect [100 696 200 712]';
  t.is(
    (
      await textOf(
        'pdf',
        form(
          [
            [50, 700, 'Name:'],
            [102, 700, 'Ada'],
          ],
          [twice],
        ),
      )
    ).trim(),
    'Name: Ada',
  );
  t.is((await textOf('pdf', form([[50, 700, 'Name:']], [twice, twice]))).trim(), 'Name: Ada');
});

test('hidden fields, passwords and empty fields are not read', async (t) => {
  const bytes = form(
    [[50, 700, 'Name:']],
    [
      '<< /Type /Annot /Subtype /Widget /F 2 /FT /Tx /T (h) /V (hidden) /Rect [100 696 200 712] >>',
      '/FT /Tx /Ff 8192 /T (p) /V (secret) /Rect [210 696 300 712]',
      '/FT /Tx /T (e) /Rect [310 696 400 712]',
    ],
  );
  t.is((await textOf('pdf', bytes)).trim(), 'Name:');
});

test('a text that was typed onto a page is read', async (t) => {
  const typed =
    '<< /Type /Annot /Subtype /FreeText /F 4 /Contents (Paid on 3 May) /DA (/F1 11 Tf) /Rect [100 696 200 712] >>';
  t.is((await textOf('pdf', form([[50, 700, 'Note:']], [typed]))).trim(), 'Note: Paid on 3 May');
});

test('the text of a form without other text consists of the values', async (t) => {
  t.is((await textOf('pdf', form([], ['/FT /Tx /T (Name) /V (Ada) /Rect [100 696 200 712]']))).trim(), 'Name: Ada');
});

test('a page of five thousand fields is read', async (t) => {
  const fields = Array.from(
    { length: 5_000 },
    (_, n) => `/FT /Tx /T (f${n}) /V (value ${n}) /Rect [100 ${n % 800} 200 ${(n % 800) + 12}]`,
  );
  const { text } = await read('pdf', form([[50, 700, 'Name:']], fields));
  t.true(text.includes('value 0\n') && text.includes('value 4999\n'));
});
