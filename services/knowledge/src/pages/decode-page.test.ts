import test from 'ava';
import { decodePage } from './decode-page.ts';

const latin1 = (text: string) => Buffer.from(text, 'latin1');

test("a byte order mark takes precedence over the charset of the response, and that over the page's declaration", (t) => {
  const bom = Buffer.from([0xef, 0xbb, 0xbf, ...Buffer.from('ü')]);
  t.is(decodePage(bom, 'windows-1252', true), 'ü');
  t.is(decodePage(Buffer.from([0xff, 0xfe, 0xfc, 0x00]), 'utf-8', false), 'ü');
  t.is(decodePage(Buffer.from([0xfe, 0xff, 0x00, 0xfc]), undefined, false), 'ü');
  t.is(decodePage(latin1('<meta charset="utf-8">\xfc'), 'ISO-8859-1', true), '<meta charset="utf-8">ü');
  t.is(decodePage(Buffer.from([0xd6, 0xd0]), 'gbk', false), '中');
});

test('a page without a charset is read as it declares, if it is HTML', (t) => {
  const declared = latin1('<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">\xef');
  t.true(decodePage(declared, undefined, true).endsWith('п'));
  t.true(decodePage(declared, undefined, false).endsWith('ï'));
  t.is(decodePage(Buffer.from('<meta charset=utf-16>ü'), undefined, true), '<meta charset=utf-16>ü');
  t.true(decodePage(latin1(`${' '.repeat(1_024)}<meta charset=windows-1251>\xef`), undefined, true).endsWith('ï'));
});

test('without a charset a page is UTF-8 if that is valid; unknown charsets count as none', (t) => {
  t.is(decodePage(Buffer.from('ü 🦜'), undefined, false), 'ü 🦜');
  t.is(decodePage(latin1('\xfc\x93a\x94'), undefined, false), 'ü“a”');
  t.is(decodePage(Buffer.from('ü'), 'klingon', true), 'ü');
  t.is(decodePage(Buffer.from('<meta charset="klingon">ü'), undefined, true), '<meta charset="klingon">ü');
  t.is(decodePage(Buffer.from([0x61, 0xff]), 'utf-8', false), 'a\ufffd');
});
