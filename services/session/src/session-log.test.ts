import { unavailable } from '@parley/kernel/errors';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import { eventSequence } from '@parley/live/subscriptions/event-sequence';
import type { LogItem } from '@parley/live/subscriptions/live-events';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import test from 'ava';
import { pino } from 'pino';
import { chunkEvent, failedEvent, toolCallEvent } from './session-event.ts';
import { sessionEventType, sessionLog, type TurnAttempt } from './session-log.ts';
import { turnFailure } from './turn-failure.ts';

const silentLogger = pino({ level: 'silent' });

type Item = LogItem<SessionEvent, TurnAttempt>;

const about = (eventId: string) => ({ eventId, sessionId: 1, occurredAt: new Date(0) });
const chunk = (eventId: string, turnIndex = 0, attempt = 1): Item => ({
  kind: 'event',
  event: chunkEvent(about(eventId), { turnIndex, clientTurnId: null }, { attempt, text: eventId }),
});
const call = (eventId: string, turnIndex = 0, attempt = 1): Item => ({
  kind: 'event',
  event: toolCallEvent(
    about(eventId),
    { turnIndex, clientTurnId: null },
    { attempt, call: { callId: '1.0', name: 'search', status: 'STARTED', durationMs: null, errorKind: null } },
  ),
});
const end = (eventId: string, turnIndex = 0): Item => ({
  kind: 'event',
  event: failedEvent(about(eventId), { turnIndex, clientTurnId: null }, turnFailure('INTERNAL')),
});
const reserved = (id: string, turnIndex = 0, attempt = 1): Item => ({
  kind: 'reserved',
  id,
  note: { turnIndex, attempt },
});

async function shown(items: Item[]): Promise<string[]> {
  const sequence = eventSequence('0-0', '0-0', async () => [], sessionEventType.obsolete());
  const ids: string[] = [];
  for (const item of items) for await (const { eventId } of sequence.take(item)) ids.push(eventId);
  return ids;
}

test('calls of an abandoned attempt or an ended turn are filtered out, and a later attempt may begin with one', async (t) => {
  const items = [
    call('1-0', 0, 1),
    call('2-0', 0, 2),
    chunk('3-0', 0, 1),
    call('4-0', 0, 1),
    end('5-0', 0),
    call('6-0', 0, 2),
    call('7-0', 1, 1),
  ];
  t.deepEqual(await shown(items), ['1-0', '2-0', '5-0', '7-0']);
});

test('chunks of an abandoned attempt or an ended turn are filtered out', async (t) => {
  const items = [
    chunk('1-0', 0, 1),
    chunk('2-0', 0, 2),
    chunk('3-0', 0, 1),
    end('4-0', 0),
    chunk('5-0', 0, 2),
    reserved('6-0', 2, 3),
    chunk('7-0', 2, 2),
    end('6-0', 2),
  ];
  t.deepEqual(await shown(items), ['1-0', '2-0', '4-0', '6-0']);
});

test('a log entry decodes to what was encoded, and an event without an id gets that of its entry', (t) => {
  const [first, second] = [chunk('1-0'), reserved('2-0', 3, 4)];
  if (first.kind !== 'event') return t.fail();
  const written = sessionEventType.encode({ kind: 'event', event: { ...first.event, eventId: '' } });
  t.deepEqual(sessionEventType.decode(written, '1-0'), first);
  t.deepEqual(
    sessionEventType.decode(sessionEventType.encode({ ...second, kind: 'reserved' } as never), '2-0'),
    second,
  );
  t.deepEqual(sessionEventType.decode(sessionEventType.encode({ kind: 'reserved', note: undefined }), '5-0'), {
    kind: 'reserved',
    id: '5-0',
    note: undefined,
  });
});

test('a tool call of any attempt of a turn is found; an aborted search ends while the log does not answer', async (t) => {
  const eventLog = memoryEventLog();
  const session = { tenantId: 1, id: 1 };
  const { signal } = new AbortController();
  const log = sessionLog(eventLog, session, silentLogger);
  const turn = { turnIndex: 0, clientTurnId: null };
  const started = { callId: '1.0', name: 'search', status: 'STARTED' as const, durationMs: null, errorKind: null };
  await log.appendCall({ ...turn, attempt: 1 }, started, '0-0');
  await log.appendChunk({ ...turn, attempt: 2 }, { text: 'I look.', citations: null }, '0-0');
  t.true(await log.hasCalls(0, '0-0', signal));
  t.false(await log.hasCalls(2, '0-0', signal));

  for (const read of [() => new Promise<never>(() => undefined), () => Promise.reject(unavailable('no answer'))]) {
    const ending = new AbortController();
    const found = sessionLog({ ...eventLog, read }, session, silentLogger).hasCalls(0, '0-0', ending.signal);
    ending.abort();
    t.false(await found);
  }
});
