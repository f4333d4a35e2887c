import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { pino } from 'pino';
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
