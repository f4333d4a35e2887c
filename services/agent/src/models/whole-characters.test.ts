import test from 'ava';
import { wholeCharacters } from './whole-characters.ts';

test('however a text is split, the parts are well formed and join to the text', (t) => {
  const text = 'a🙂b👩‍👩‍👧c';
  for (let size = 1; size <= text.length; size++) {
    const characters = wholeCharacters();
    const parts: string[] = [];
    for (let at = 0; at < text.length; at += size) parts.push(characters.push(text.slice(at, at + size)));
    parts.push(characters.flush());

    t.true(parts.every((part) => part.isWellFormed()));
    t.is(parts.join(''), text);
  }
});

test('a lone surrogate is replaced by U+FFFD', (t) => {
  const characters = wholeCharacters();

  t.deepEqual([characters.push('a\ud83d'), characters.push('b'), characters.push('\ud83d')], ['a', '\ufffdb', '']);
  t.is(characters.flush(), '\ufffd');
  t.is(characters.flush(), '');
});
