import test from 'ava';
import { asciiDigits, folded } from './folded.ts';

test('digits of every script become ASCII, and nothing else changes', (t) => {
  t.is(
    asciiDigits('٠١٢٣٤٥٦٧٨٩ ۰۱۲۳۴۵۶۷۸۹ ०१२३४५६७८९ ０１２３４５６７８９ 𝟎𝟏𝟗𝟘𝟡𝟢'),
    '0123456789 0123456789 0123456789 0123456789 019090',
  );
  t.is(asciiDigits('+44 7911-x ½ ² Ⅳ 七'), '+44 7911-x ½ ² Ⅳ 七');
});

test('the digits of each script that Unicode has come in tens, from zero', (t) => {
  const digits: string[] = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    if (/\p{Nd}/u.test(character)) digits.push(character);
  }
  t.true(digits.length >= 600);
  t.is(asciiDigits(digits.join('')), '0123456789'.repeat(digits.length / 10));
});

test('text folds to its compatible form, trimmed, in its own case', (t) => {
  t.is(folded(' ＡbＣ１２ \u3000'), 'AbC12');
  t.is(folded('e\u0301'), '\u00e9');
  t.is(folded('ﬁle'), 'file');
  t.is(folded('straße'), 'straße');
});
