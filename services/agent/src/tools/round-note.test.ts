import test from 'ava';
import { readNote, writeNote } from './round-note.ts';

const call = { callId: 'call_1', name: 'search', arguments: { never: 'kept' } };
const replay = { providerId: 'P', modelId: 'm', before: [{ type: 'text' as const, text: 'I look. 👋' }] };

test('a note has what the model said and how it called, without the arguments', (t) => {
  const note = writeNote('I look. 👋', { ...call, replay });
  t.deepEqual(readNote(note), { text: 'I look. 👋', call: { callId: 'call_1', name: 'search', replay } });
  t.false(note.includes('kept'));
});

test('a note that is too long has no replay, then no text', (t) => {
  const long = 'ü'.repeat(60_000);
  const withoutReplay = writeNote('I look.', {
    ...call,
    replay: { ...replay, before: [{ type: 'text', text: long }] },
  });
  t.deepEqual(readNote(withoutReplay), { text: 'I look.', call: { callId: 'call_1', name: 'search' } });
  t.deepEqual(readNote(writeNote(long, call)), { text: '', call: { callId: 'call_1', name: 'search' } });
});
