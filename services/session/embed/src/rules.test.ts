import test from 'ava';
import { backoff } from './backoff.ts';
import { isLater, type SessionEvent } from './events.ts';
import { refreshAfterMs } from './token-schedule.ts';
import { createTranscript } from './transcript.ts';

test('the pause doubles with each failure up to its maximum, minus a random part of up to half', (t) => {
  const longest = backoff({ firstMs: 100, maxMs: 1_000, random: () => 0 });
  const shortest = backoff({ firstMs: 100, maxMs: 1_000, random: () => 0.999 });
  t.deepEqual([1, 2, 3, 4, 5, 1_000].map(longest), [100, 200, 400, 800, 1_000, 1_000]);
  t.true([1, 5, 50].every((failures) => shortest(failures) >= longest(failures) / 2));
});

test('a token is refreshed before four fifths of its lifetime, and within the longest delay of a timer', (t) => {
  t.is(
    refreshAfterMs(3_600_000, () => 0),
    2_700_000,
  );
  t.true(refreshAfterMs(3_600_000, () => 0.999) < 2_880_000);
  t.is(refreshAfterMs(0), 0);
  t.is(refreshAfterMs(-5), 0);
  t.is(refreshAfterMs(1e15), 2 ** 31 - 1);
});

test('event ids are compared as numbers', (t) => {
  t.true(isLater('10-0', '9-5'));
  t.true(isLater('9-10', '9-9'));
  t.false(isLater('9-9', '9-9'));
  t.true(isLater('1-0', '0'));
});

let counter = 0;
function event(type: SessionEvent['__typename'], fields: object): SessionEvent {
  counter += 1;
  const base = {
    eventId: `${counter}-0`,
    sessionId: 1,
    occurredAt: '2026-01-01T00:00:00.000Z',
    clientTurnId: 'a',
    turnIndex: 1,
  };
  return { __typename: type, ...base, ...fields } as SessionEvent;
}
const chunk = (text: string, fields: object = {}) => event('AiResponseChunkEvent', { attempt: 1, text, ...fields });
const call = (callStatus: string, fields: object = {}) =>
  event('ToolCallEvent', {
    attempt: 1,
    callId: 'c1',
    name: 'search',
    callStatus,
    durationMs: null,
    errorKind: null,
    ...fields,
  });
const reply = (text: string, fields: object = {}) =>
  event('AiResponseEvent', {
    text,
    interrupted: false,
    message: { id: 5, turnIndex: 2, createdAt: '', structuredContent: null, citations: null, toolCalls: null },
    ...fields,
  });

function folded(...events: SessionEvent[]) {
  const transcript = createTranscript();
  for (const each of events) transcript.take(each);
  return transcript;
}

test('pieces are joined, and the stored reply replaces them at the end', (t) => {
  t.like(folded(chunk('Hel'), chunk('lo')).turns, [{ text: 'Hello', state: 'streaming' }]);
  t.like(folded(chunk('Hel'), reply('Hello')).turns, [{ text: 'Hello', state: 'replied' }]);
  t.like(folded(chunk('Hel'), reply('Hel', { interrupted: true })).turns, [{ text: 'Hel', state: 'interrupted' }]);
});

test('a higher attempt discards earlier pieces and calls, and later events of a lower one are ignored', (t) => {
  const { turns } = folded(
    chunk('Half of'),
    call('STARTED'),
    chunk('Whole', { attempt: 2 }),
    chunk(' late', { attempt: 1 }),
    chunk('.', { attempt: 2 }),
  );
  t.like(turns, [{ text: 'Whole.', attempt: 2, toolCalls: [] }]);
  t.is(turns.length, 1);
});

test('a later event of a call replaces the earlier one, and a call that runs at the end is cancelled', (t) => {
  const [done] = folded(call('STARTED'), call('STARTED', { callId: 'c2' }), call('SUCCEEDED', { durationMs: 7 })).turns;
  t.like(done?.toolCalls, [
    { callId: 'c1', callStatus: 'SUCCEEDED', durationMs: 7 },
    { callId: 'c2', callStatus: 'STARTED' },
  ]);
  const failed = event('TurnFailedEvent', { code: 'MODEL_FAILED', failure: 'The model failed' });
  t.like(folded(chunk('Some'), call('STARTED'), failed).turns, [
    {
      text: 'Some',
      state: 'failed',
      failure: { code: 'MODEL_FAILED', message: 'The model failed' },
      toolCalls: [{ callStatus: 'CANCELLED' }],
    },
  ]);
});

test('turns are in the order of their messages, whatever the order of events', (t) => {
  const { turns } = folded(
    chunk('second', { turnIndex: 3, clientTurnId: 'b' }),
    reply('first'),
    chunk('hi', { turnIndex: 0, clientTurnId: null }),
  );
  t.deepEqual(
    turns.map(({ text, isGreeting }) => [text, isGreeting]),
    [
      ['hi', true],
      ['first', false],
      ['second', false],
    ],
  );
});

test('the status comes from the last event, and unknown event types change nothing', (t) => {
  const transcript = folded(event('SessionStatusEvent', { status: 'ENDED' }));
  t.is(transcript.status, 'ENDED');
  const newer: object = { ...chunk('x'), __typename: 'NewerEvent' };
  t.is(transcript.take(newer as SessionEvent), undefined);
  t.is(transcript.turns.length, 0);
});

test('unknown parts of an event are ignored', (t) => {
  const { turns } = folded(
    call('STARTED'),
    call('PAUSED'),
    call('STARTED', { callId: 7 }),
    chunk('x', { text: undefined }),
    chunk('y', { turnIndex: null }),
    event('TurnFailedEvent', { code: 'X', failure: null }),
  );
  t.like(turns, [{ state: 'streaming', text: '', toolCalls: [{ callId: 'c1', callStatus: 'STARTED' }] }]);
  t.is(turns.length, 1);
  t.like(folded(reply('Hello', { message: undefined })).turns, [{ text: 'Hello', state: 'replied', citations: [] }]);
  t.like(folded(reply('x', { text: 3 })).turns, { length: 0 });
  const known = { callId: 'c1', name: 'search', callStatus: 'FAILED', durationMs: null, errorKind: null };
  const source = { documentId: 1, documentName: 'a.md', chunkIndex: 0, preview: 'A' };
  const odd = { toolCalls: [known, { ...known, callStatus: 'LATER' }, null], citations: [source, null, {}] };
  t.like(folded(reply('Hello', { message: odd })).turns, [{ toolCalls: [known], citations: [source] }]);
  t.is(folded(event('SessionStatusEvent', { status: 'PAUSED' })).status, 'ACTIVE');
});

test('a replay of the same events gives the same turns', (t) => {
  const events = [
    chunk('hi', { turnIndex: 0, clientTurnId: null }),
    chunk('a'),
    chunk('b', { attempt: 2 }),
    reply('b'),
  ];
  t.deepEqual(folded(...events).turns, folded(...events).turns);
});
