import test from 'ava';
import { asciiDigits, normalizeText } from './normalize-text.ts';

test('decimal digits of any script become ASCII, and nothing else changes', (t) => {
  t.is(
    asciiDigits('٠١٢٣٤٥٦٧٨٩ ۰۱۲۳۴۵۶۷۸۹ ०१२३४५६७८९ ０１２３４５６７８９ 𝟎𝟏𝟗𝟘𝟡𝟢'),
    '0123456789 0123456789 0123456789 0123456789 019090',
  );
  t.is(asciiDigits('+44 7911-x ½ ² Ⅳ 七'), '+44 7911-x ½ ² Ⅳ 七');
});

test('every Unicode decimal digit maps to its value', (t) => {
  const digits: string[] = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    if (/\p{Nd}/u.test(character)) digits.push(character);
  }
  t.true(digits.length >= 600);
  t.is(asciiDigits(digits.join('')), '0123456789'.repeat(digits.length / 10));
});

test('text is trimmed and normalized to NFKC, and keeps its case', (t) => {
  t.is(normalizeText(' ＡbＣ１２ \u3000'), 'AbC12');
  t.is(normalizeText('e\u0301'), '\u00e9');
  t.is(normalizeText('ﬁle'), 'file');
  t.is(normalizeText('straße'), 'straße');
});
