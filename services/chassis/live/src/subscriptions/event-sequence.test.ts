import test from 'ava';
import { eventSequence } from './event-sequence.ts';
import type { LogItem, ObsoleteFilter } from './live-events.ts';

interface Event {
  eventId: string;
}

const event = (eventId: string): LogItem<Event, never> => ({ kind: 'event', event: { eventId } });
const reserved = (id: string): LogItem<Event, never> => ({ kind: 'reserved', id, note: undefined });
const nothing: ObsoleteFilter<Event, unknown> = {
  isObsolete: () => false,
  onShown: () => undefined,
  onReserved: () => undefined,
};

/** Returns what a reader of these log items is shown. The database has the events `stored` and returns them in pages of two. */
async function shown(
  items: LogItem<Event, string>[],
  { stored = [] as string[], start = '0-0', lastingId = '0-0', filter = nothing } = {},
) {
  const number = (id: string) => Number(id.split('-')[0]);
  let asked = 0;
  const find = async ({ after, upTo }: { after: string; upTo: string }) => {
    asked += 1;
    const found = stored.filter((id) => number(id) > number(after) && number(id) <= number(upTo));
    return found.slice(0, 2).map((eventId) => ({ eventId }));
  };
  const sequence = eventSequence(start, lastingId, find, filter);
  const ids: string[] = [];
  for (const item of items) for await (const { eventId } of sequence.take(item)) ids.push(eventId);
  return { ids, asked, sequence };
}

test('without gaps the database is not queried', async (t) => {
  const { ids, asked, sequence } = await shown([
    event('1-0'),
    event('2-0'),
    reserved('3-0'),
    event('3-0'),
    event('5-0'),
  ]);
  t.deepEqual(ids, ['1-0', '2-0', '3-0', '5-0']);
  t.is(asked, 0);
  t.false(sequence.needsCatchUp);
});

test('a reserved event that does not arrive is looked up before a later one is shown', async (t) => {
  const { ids } = await shown([event('1-0'), reserved('2-0'), event('4-0'), event('2-0')], { stored: ['2-0'] });
  t.deepEqual(ids, ['1-0', '2-0', '4-0']);
});

test('a reservation whose transaction rolled back is dropped', async (t) => {
  const { ids, sequence } = await shown([reserved('2-0'), event('4-0'), reserved('5-0'), event('5-0')]);
  t.deepEqual(ids, ['4-0', '5-0']);
  t.false(sequence.needsCatchUp);
});

test('a reserved event is looked up after a while, and not shown again when it arrives later', async (t) => {
  const { sequence } = await shown([reserved('2-0')], { stored: ['2-0'] });
  t.true(sequence.needsCatchUp);
  const late: string[] = [];
  for await (const { eventId } of sequence.catchUpReserved()) late.push(eventId);
  for await (const { eventId } of sequence.take(event('2-0'))) late.push(eventId);
  t.deepEqual(late, ['2-0']);
  t.false(sequence.needsCatchUp);
});

test('events of the database are shown in order, and none twice', async (t) => {
  const stored = ['2-0', '3-0', '4-0', '7-0'];
  const items = [event('6-0'), reserved('7-0'), event('7-0'), event('9-0')];
  const { ids, asked } = await shown(items, { stored, start: '2-0', lastingId: '7-0' });
  t.deepEqual(ids, ['3-0', '4-0', '6-0', '7-0', '9-0']);
  t.is(asked, 2);
});

test('a reader is not shown an event again', async (t) => {
  const items = [event('1-0'), reserved('2-0'), event('2-0'), event('2-0'), event('3-0')];
  const { ids } = await shown(items, { start: '2-0' });
  t.deepEqual(ids, ['3-0']);
});

test('obsolete events are skipped, and the filter is called for shown and reserved events', async (t) => {
  const calls: string[] = [];
  const filter: ObsoleteFilter<Event, string> = {
    isObsolete: ({ eventId }) => eventId === '2-0',
    onShown: ({ eventId }) => void calls.push(`shown ${eventId}`),
    onReserved: (note) => void calls.push(`reserved ${note}`),
  };
  const items = [event('1-0'), event('2-0'), { kind: 'reserved' as const, id: '3-0', note: 'third' }, event('3-0')];
  const { ids } = await shown(items, { filter });
  t.deepEqual(ids, ['1-0', '3-0']);
  t.deepEqual(calls, ['shown 1-0', 'reserved third', 'shown 3-0']);
});
