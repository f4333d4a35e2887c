import test from 'ava';
import { ssmlProblem, textOfSsml } from '../ssml.ts';
import { shortestPiece } from './piece-ends.ts';
import { piecesOf } from './pieces-of.ts';

const texts = (text: string, language = 'en-US') =>
  piecesOf({ text }, language).map((piece) => ('text' in piece ? piece.text : ''));
const ssmls = (ssml: string) => piecesOf({ ssml }, 'en-US').map((piece) => ('ssml' in piece ? piece.ssml : ''));
const long = `${'Many words follow each other here '.repeat(7).trim()}.`;

test('the first piece is the first sentence; later pieces combine short sentences', (t) => {
  t.deepEqual(texts('Hello there. How are you? I am fine.'), ['Hello there. ', 'How are you? I am fine.']);
  t.deepEqual(texts(`Hello. ${long} ${long} Bye.`), ['Hello. ', `${long} `, `${long} `, 'Bye.']);
  const many = texts('a. '.repeat(1_600));
  t.true(many.length <= 2 + 4_800 / shortestPiece, String(many.length));
  t.is(many.join(''), 'a. '.repeat(1_600));
});

test('a full stop of an abbreviation or a number does not end a sentence', (t) => {
  t.deepEqual(texts('Dr. Who pays 3.50 to J. Doe. Then he leaves.'), [
    'Dr. Who pays 3.50 to J. Doe. ',
    'Then he leaves.',
  ]);
});

test('sentences of other scripts end at the punctuation of these scripts', (t) => {
  t.deepEqual(texts('你好。再见。', 'zh-CN'), ['你好。', '再见。']);
  t.deepEqual(texts('नमस्ते। फिर मिलेंगे।', 'hi_IN'), ['नमस्ते। ', 'फिर मिलेंगे।']);
  t.deepEqual(texts('One. Two.', 'no-such-language'), ['One. ', 'Two.']);
});

test('no piece is silent', (t) => {
  t.deepEqual(texts('… ! ? Hello. — … !'), ['… ! ? Hello. — … !']);
  t.deepEqual(texts('...'), ['...']);
});

test('a very long sentence is cut at its clauses, or else between words', (t) => {
  const clauses = texts('Some words, and then others, '.repeat(60));
  t.true(clauses.length > 3);
  t.true(clauses.every((each) => each.length <= 400 && each.endsWith(', ')));
  const words = texts('word '.repeat(300));
  t.true(words.length > 3);
  t.true(words.every((each) => each.length <= 400 && each.endsWith('word ')));
  t.deepEqual(texts('x'.repeat(5_000)).length, 1);
});

test('SSML is split between sentences, and enclosing elements are reopened', (t) => {
  t.deepEqual(ssmls('<speak xml:lang="en"><p>One &amp; only. <prosody rate="slow">Two. Three.</prosody></p></speak>'), [
    '<speak xml:lang="en"><p>One &amp; only. </p></speak>',
    '<speak xml:lang="en"><p><prosody rate="slow">Two. Three.</prosody></p></speak>',
  ]);
  t.deepEqual(ssmls('<speak><s>One</s><s>Two</s></speak>'), ['<speak><s>One</s></speak>', '<speak><s>Two</s></speak>']);
});

test('a mark or pause between sentences belongs to the second sentence', (t) => {
  t.deepEqual(ssmls('<speak>One. <mark name="a"/><break time="1s"/>Two.<mark name="b"/></speak>'), [
    '<speak>One. </speak>',
    '<speak><mark name="a"></mark><break time="1s"></break>Two.<mark name="b"></mark></speak>',
  ]);
});

test('elements that are spoken as one expression are not split', (t) => {
  for (const whole of [
    '<speak>See <sub alias="a. b.">One. Two.</sub></speak>',
    '<speak>See <say-as interpret-as="date">1. May. 2</say-as> now.</speak>',
    '<speak><break time="1s"></break></speak>',
    '<speak></speak>',
  ])
    t.deepEqual(ssmls(whole), [whole]);
});

test('pieces of SSML are valid SSML and together give the same speech', (t) => {
  const inner = `One. Two &lt;b&gt; <emphasis>three. ${long}</emphasis> <![CDATA[x < y. ]]> Four <sub alias="x">5. 6.</sub>. ${long} End.`;
  const ssml = `<?xml version="1.0"?><speak><!-- no -->${`<p>${inner}</p>`.repeat(4)}</speak>`;
  const pieces = ssmls(ssml);
  t.true(pieces.length > 6);
  for (const piece of pieces) t.is(ssmlProblem(piece), undefined, piece);
  const said = (text: string) => text.replace(/\s+/gu, '');
  t.is(said(pieces.map(textOfSsml).join('')), said(textOfSsml(ssml)));
});
