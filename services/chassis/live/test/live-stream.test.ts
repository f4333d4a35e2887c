import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { pino } from 'pino';
import { compareEventIds } from '../src/event-log/event-id.ts';
import type { EventLog } from '../src/event-log/event-log.ts';
import { memoryEventLog } from '../src/event-log/memory-event-log.ts';
import type { LiveEventType } from '../src/subscriptions/live-events.ts';
import { liveStream } from '../src/subscriptions/live-stream.ts';
import { watchEvents } from '../src/subscriptions/watch-events.ts';

const type: LiveEventType<{ eventId: string }, never> = {
  encode: () => new Uint8Array(),
  decode: () => undefined,
  obsolete: () => ({ isObsolete: () => false, onShown: () => undefined, onReserved: () => undefined }),
};
const stream = 'parley:1:notes:7';
const logFields = { noteId: 7 };

function recordedLog() {
  const lines: Record<string, unknown>[] = [];
  return { lines, logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }) };
}

test("warnings about a live stream have its owner's log fields", async (t) => {
  const { lines, logger } = recordedLog();
  const failing: EventLog = { ...memoryEventLog(), append: () => Promise.reject(unavailable('no answer')) };
  const notes = liveStream(type, failing, stream, { logger, logFields });

  await notes.reserve(1, '0-0');
  await notes.publish([{ eventId: '1-0' }]);

  t.deepEqual(
    lines.map(({ noteId, stream: name }) => [noteId, name]),
    [
      [7, undefined],
      [7, undefined],
    ],
  );
});

test('an id that is made from the clock is above those of earlier entries whose append failed and was executed later', async (t) => {
  const { logger } = recordedLog();
  const memory = memoryEventLog();
  let isDown = false;
  const log: EventLog = {
    ...memory,
    append: (...args) => (isDown ? Promise.reject(unavailable('no answer')) : memory.append(...args)),
  };
  const notes = liveStream(type, log, stream, { logger, logFields });
  await notes.append({ eventId: '' }, '0-0');
  isDown = true;
  await t.throwsAsync(notes.append({ eventId: '' }, '0-0'));
  const [made = ''] = await notes.reserve(1, '0-0');
  const [executedLater = ''] = await memory.append(stream, [new Uint8Array()], { after: '0-0' });
  t.true(compareEventIds(made, executedLater) > 0, `${made} is above ${executedLater}`);
});

test("warnings of a reader have its owner's log fields", async (t) => {
  const { lines, logger } = recordedLog();
  const left = new AbortController();
  const eventLog: EventLog = {
    ...memoryEventLog(),
    tail: async () => ({
      complete: true,
      oldestId: undefined,
      async *[Symbol.asyncIterator]() {
        yield [];
        await new Promise((resolve) => left.signal.addEventListener('abort', resolve));
      },
    }),
  };
  let isFirst = true;
  const findLast = async () => {
    if (!isFirst) throw unavailable('no answer');
    isFirst = false;
    return '0-0';
  };
  const options = { type, eventLog, stream, start: undefined, findLast, findLasting: async () => [] };
  const reading = watchEvents({ ...options, log: logger, logFields }, left.signal).next();

  await eventually('it has warned', () => lines.length > 0);
  left.abort();
  await reading;
  t.is(lines[0]?.['noteId'], 7);
  t.false('stream' in (lines[0] ?? {}));
});
