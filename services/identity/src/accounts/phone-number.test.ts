import test from 'ava';
import { readPhone, readPhoneQuery } from './phone-number.ts';

test('dial prefix and digits are kept as given, and E.164 is derived', (t) => {
  t.deepEqual(readPhone('+44', '07911 123-456'), {
    code: '+44',
    number: '07911123456',
    e164: '+447911123456',
    national: '7911123456',
  });
  t.deepEqual(readPhone('44', '7911123456'), {
    code: '44',
    number: '7911123456',
    e164: '+447911123456',
    national: '7911123456',
  });
  t.like(readPhone('+44', '+447911123456'), { number: '7911123456', e164: '+447911123456' });
  t.like(readPhone('+39', '0612345678'), { number: '0612345678', e164: '+390612345678', national: '612345678' });
  t.like(readPhone('1', '555-123-4567'), { e164: '+15551234567' }); // the length is possible, but the number is not assigned
});

test('impossible phone numbers are refused', (t) => {
  for (const [code, number] of [
    ['+44', '1'],
    ['+44', '1'.repeat(30)],
    ['+999', '123456789'],
    ['', '7911123456'],
    ['+', '7911123456'],
    ['abc', '7911123456'],
    ['+44', ''],
    ['+44', 'abc'],
    ['+44', '+6591234567'],
    ['+44', '7911123456 ext. 5'],
    ['+44', '7911123456; DROP'],
    ['+4444', '7911123456'],
  ] as const) {
    t.is(readPhone(code, number), undefined, `${code} ${number}`);
  }
});

test('a number without a dial prefix is E.164 or national digits', (t) => {
  t.deepEqual(readPhoneQuery('+44 7911 123456'), { e164: '+447911123456' });
  t.deepEqual(readPhoneQuery('07911 123456'), { digits: '07911123456', national: '7911123456' });
  for (const nothing of ['', '+', 'abc', '1', '+1', '9'.repeat(100)]) t.is(readPhoneQuery(nothing), undefined, nothing);
});

test('overlong input is refused without parsing it', (t) => {
  const padded = `${' '.repeat(1_000)}07911123456`;
  t.is(readPhoneQuery(padded), undefined);
  t.is(readPhone('+44', padded), undefined);
  t.is(readPhone(`${' '.repeat(1_000)}+44`, '07911123456'), undefined);
});

test('digits of any script are stored and looked up in ASCII', (t) => {
  const phone = { code: '+44', number: '07911123456', e164: '+447911123456', national: '7911123456' };
  t.deepEqual(readPhone('+44', '٠٧٩١١١٢٣٤٥٦'), phone);
  t.deepEqual(readPhone('＋٤٤', '०७९१११२३४५६'), phone);
  t.deepEqual(readPhone('+44', '０７９１１ １２３-４５６'), phone);
  t.deepEqual(readPhone('+44', '＋４４ ７９１１１２３４５６'), { ...phone, number: '7911123456' });
  t.deepEqual(readPhoneQuery('٠٧٩١١١٢٣٤٥٦'), { digits: '07911123456', national: '7911123456' });
  t.deepEqual(readPhoneQuery('＋４４٧٩١١١٢٣٤٥٦'), { e164: '+447911123456' });
});
