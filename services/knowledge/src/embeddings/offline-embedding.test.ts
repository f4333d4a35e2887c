import test from 'ava';
import { dimensions, type Embedding } from './embedder.ts';
import { embedOffline } from './offline-embedding.ts';
import { withoutMarkRuns } from './text-features.ts';

const cosine = (one: Embedding, other: Embedding) => one.reduce((sum, each, at) => sum + each * (other[at] ?? 0), 0);
const near = (one: string, other: string) => cosine(embedOffline(one), embedOffline(other));

test('every text has a unit vector of 768 finite numbers', (t) => {
  for (const text of [
    'Refunds take ten days.',
    '',
    '   ',
    '!?',
    '🦜',
    '数据',
    '\ud800',
    'a'.repeat(40_000),
    'x y '.repeat(40_000),
  ]) {
    const vector = embedOffline(text);
    t.is(vector.length, dimensions);
    t.true(Math.abs(cosine(vector, vector) - 1) < 1e-5, text.slice(0, 20));
  }
});

for (const [language, question, answer, other] of [
  ['English', 'How do I get a refund?', 'Refunds are paid within ten days of a return.', 'The museum opens at nine.'],
  [
    'German',
    'Wie kündige ich den Vertrag?',
    'Eine Kündigung des Vertrags ist jederzeit möglich.',
    'Das Museum öffnet um neun Uhr.',
  ],
  [
    'French',
    'Où est ma facture impayée ?',
    'Les factures impayées sont envoyées par courrier.',
    'Le musée ouvre à neuf heures.',
  ],
  ['Russian', 'Как вернуть деньги?', 'Мы вернём деньги за десять дней.', 'Музей открывается в девять часов.'],
  ['Chinese', '退款需要多长时间？', '退款会在十天之内到账。', '博物馆早上九点开门。'],
  ['Japanese', '返金はいつですか', '返金は十日以内に行われます。', '博物館は九時に開きます。'],
  ['Arabic', 'كيف أسترد المال؟', 'يمكن استرداد المال خلال عشرة أيام.', 'يفتح المتحف الساعة التاسعة.'],
  ['Hindi', 'मुझे पैसे वापस कैसे मिलेंगे?', 'पैसे दस दिन में वापस मिलते हैं।', 'संग्रहालय नौ बजे खुलता है।'],
  ['Thai', 'ขอเงินคืนได้อย่างไร', 'เงินคืนจะโอนภายในสิบวัน', 'พิพิธภัณฑ์เปิดเก้าโมง'],
  ['Korean', '환불은 어떻게 받나요?', '환불은 열흘 안에 됩니다.', '박물관은 아홉 시에 문을 엽니다.'],
] as const) {
  test(`a question is nearer to its answer than to another text: ${language}`, (t) => {
    t.true(near(question, answer) > near(question, other) + 0.05, `${near(question, answer)} ${near(question, other)}`);
  });
}

test('case, accents and width make no difference', (t) => {
  t.true(near('CAFÉ Müller', 'cafe muller') > 0.999);
  t.true(near('ＡＢＣ１２３', 'abc123') > 0.999);
});

test('common words have little weight', (t) => {
  t.true(near('the refund of the', 'what is a refund') > near('the refund of the', 'the house of the king'));
});

test('a word that occurs often does not outweigh the others', (t) => {
  t.true(near(`${'invoice '.repeat(200)}refund`, 'refund') > 0.1);
});

test('the vectors of offline-embedding-1 never change, because stored ones are compared with new ones', (t) => {
  const largest = [...embedOffline('A refund, 退款').entries()].toSorted(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  t.deepEqual(
    largest.slice(0, 6).map(([place, value]) => `${place} ${Math.abs(value).toFixed(3)}`),
    ['44 0.583', '385 0.583', '342 0.350', '338 0.233', '532 0.233', '169 0.075'],
  );
});

test('a run of combining marks takes linear time, and marks after the 30th are ignored', (t) => {
  const marks = (count: number) => `a${'\u0345\u0315\u0300\u0323\u0334'.repeat(count / 5)}`;
  t.is(withoutMarkRuns(`${marks(100)} b`), `${marks(30)} b`);
  t.is(withoutMarkRuns('\u0e17\u0e35\u0e48 cafe\u0301'), '\u0e17\u0e35\u0e48 cafe\u0301');
  t.deepEqual(embedOffline(marks(30_000)), embedOffline(marks(30)));
});
