import test from 'ava';
import { plainSsml, ssmlProblem, textOfSsml } from './ssml.ts';

test('elements with unbounded effect are removed, and their text is kept', (t) => {
  const ssml = '<speak xml:lang="de">a<audio src="/etc/passwd">b &amp; c</audio><voice name="../x">d</voice></speak>';
  t.is(plainSsml(ssml).plain, '<speak>ab &amp; cd</speak>');
  t.is(textOfSsml(ssml), 'a b & c d');
});

test('unknown attributes are removed, and values are escaped', (t) => {
  const ssml = `<speak><prosody rate='"fast"' src="x">a</prosody><break time="90s"/><break time="nonsense"/></speak>`;
  const plain = `<speak><prosody rate="&quot;fast&quot;">a</prosody><break time="10000ms"></break><break time="0ms"></break></speak>`;
  t.is(plainSsml(ssml).plain, plain);
});

test('a mark after a full stop is moved before the full stop', (t) => {
  t.deepEqual(plainSsml('<speak>One. <mark name="a&lt;"/><mark name="b"/>Two.</speak>'), {
    plain: '<speak>One<mark name="m0"></mark><mark name="m1"></mark>. Two.</speak>',
    marks: ['a<', 'b'],
  });
});

test('invalid SSML is refused with the problem', (t) => {
  t.is(ssmlProblem('<speak>a</speak>'), undefined);
  for (const text of ['', 'a', '<speak>', '<speak>&x;</speak>', '<speak/><speak/>'])
    t.is(ssmlProblem(text), 'must be well-formed XML', text);
});
