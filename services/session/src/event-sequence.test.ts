import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import test from 'ava';
import { eventSequence } from './event-sequence.ts';
import { chunkEvent, failedEvent } from './session-event.ts';
import type { LogItem } from './session-log.ts';
import { turnFailure } from './turn-failure.ts';

const about = (eventId: string) => ({ eventId, sessionId: 1, occurredAt: new Date(0) });
const chunk = (eventId: string, turnIndex = 0, attempt = 1): LogItem => ({
  kind: 'event',
  event: chunkEvent(about(eventId), { turnIndex, clientTurnId: undefined }, attempt, eventId),
});
const lasting = (eventId: string, turnIndex = 0): SessionEvent =>
  failedEvent(about(eventId), { turnIndex, clientTurnId: undefined }, turnFailure('INTERNAL'));
const end = (eventId: string, turnIndex = 0): LogItem => ({ kind: 'event', event: lasting(eventId, turnIndex) });
const reserved = (id: string, turnIndex = 0, attempt = 1): LogItem => ({
  kind: 'reserved',
  id,
  turn: { turnIndex, attempt },
});

/** What a reader is shown of these items, where the database holds these events, given two a page. */
async function shown(items: LogItem[], { stored = [] as SessionEvent[], start = '0-0', lastingId = '0-0' } = {}) {
  const number = (id: string) => Number(id.split('-')[0]);
  let asked = 0;
  const sequence = eventSequence(start, lastingId, async ({ after, upTo }) => {
    asked += 1;
    return stored
      .filter(({ eventId }) => number(eventId) > number(after) && number(eventId) <= number(upTo))
      .slice(0, 2);
  });
  const ids: string[] = [];
  for (const item of items) for await (const { eventId } of sequence.take(item)) ids.push(eventId);
  return { ids, asked, sequence };
}

test('in the usual case nobody asks the database', async (t) => {
  const { ids, asked, sequence } = await shown([
    chunk('1-0'),
    chunk('2-0'),
    reserved('3-0'),
    end('3-0'),
    chunk('5-0', 2),
  ]);
  t.deepEqual(ids, ['1-0', '2-0', '3-0', '5-0']);
  t.is(asked, 0);
  t.false(sequence.waiting);
});

test('a reserved event that does not come is looked up before anything later is shown', async (t) => {
  const { ids } = await shown([chunk('1-0'), reserved('2-0'), chunk('4-0', 2), end('2-0')], {
    stored: [lasting('2-0')],
  });
  t.deepEqual(ids, ['1-0', '2-0', '4-0']);
});

test('a reservation whose transaction rolled back is forgotten', async (t) => {
  const { ids, sequence } = await shown([reserved('2-0'), chunk('4-0', 0, 2), reserved('5-0', 0, 2), end('5-0')]);
  t.deepEqual(ids, ['4-0', '5-0']);
  t.false(sequence.waiting);
});

test('a reserved event is looked up after a while, and not shown again when it comes after all', async (t) => {
  const { sequence } = await shown([reserved('2-0')], { stored: [lasting('2-0')] });
  t.true(sequence.waiting);
  const late: string[] = [];
  for await (const { eventId } of sequence.settle()) late.push(eventId);
  for await (const { eventId } of sequence.take(end('2-0'))) late.push(eventId);
  t.deepEqual(late, ['2-0']);
  t.false(sequence.waiting);
});

test('pieces of an attempt that was given up, or of a turn that has ended, are not shown', async (t) => {
  const { ids } = await shown([
    chunk('1-0', 0, 1),
    chunk('2-0', 0, 2),
    chunk('3-0', 0, 1),
    end('4-0', 0),
    chunk('5-0', 0, 2),
    reserved('6-0', 2, 3),
    chunk('7-0', 2, 2),
    end('6-0', 2),
  ]);
  t.deepEqual(ids, ['1-0', '2-0', '4-0', '6-0']);
});

test('what only the database has is shown in its place, and nothing twice', async (t) => {
  const stored = ['2-0', '3-0', '4-0', '7-0'].map((id, turnIndex) => lasting(id, turnIndex));
  const items = [chunk('6-0', 3), reserved('7-0', 3), end('7-0', 3), chunk('9-0', 8)];
  const { ids, asked } = await shown(items, { stored, start: '2-0', lastingId: '7-0' });
  t.deepEqual(ids, ['3-0', '4-0', '6-0', '7-0', '9-0']);
  t.is(asked, 2);
});

test('a reader is never shown again what it has', async (t) => {
  const { ids } = await shown([chunk('1-0'), reserved('2-0'), end('2-0'), end('2-0'), chunk('3-0', 1)], {
    start: '2-0',
  });
  t.deepEqual(ids, ['3-0']);
});
