import { isDomainError } from '@parley/kernel/errors';
import { type RedisConnection, redisScript } from '../redis/redis-connection.ts';
import { type EventId, type EventIdParts, eventIdParts } from './event-id.ts';
import type { Entry } from './event-log.ts';

/** An entry with the id of the one before it. A reader whose last id is below `previous` has missed entries. */
export interface LinkedEntry extends Entry {
  previous: EventId;
}

export interface AppendOptions {
  /**
   * New ids are greater than this id. When it is above the newest entry, entries are missing, and an append first deletes the existing
   * stream.
   */
  floor: EventIdParts;
  /** Whether the stream is new: nothing was ever appended to it. A new stream that does not exist yet is complete. */
  isNew: boolean;
  ttlMs: number;
  maxEntries: number;
}

/** How many entries one command reads. */
export const pageSize = 500;

/**
 * The channel on which appends to a stream are published. The message for a single short entry is `<previous id> <id> <data>`. Any other
 * message is the last appended id; followers then read the entries from the stream.
 */
export const channelOf = (stream: string) => `${stream}:appended`;

/**
 * Maximum size of a published entry. Longer entries are read from the stream, because Redis disconnects subscribers that lag far behind.
 */
const maxPublishedBytes = 4_096;

/** Returns the entry in a message of the channel, if there is one. */
export function publishedEntry(message: Buffer): LinkedEntry | undefined {
  const first = message.indexOf(' ');
  const second = first < 0 ? first : message.indexOf(' ', first + 1);
  if (second < 0) return undefined;
  const [previous = '', id = ''] = message.toString('latin1', 0, second).split(' ');
  return { previous, id, data: message.subarray(second + 1) };
}

/** Appends all data atomically and notifies followers. @returns the ids. */
export function appendTo(
  redis: RedisConnection,
  stream: string,
  data: Uint8Array[],
  { floor, isNew, ttlMs, maxEntries }: AppendOptions,
): Promise<EventId[]> {
  const numbers = [floor.ms, floor.n, isNew ? 1 : 0, ttlMs, maxEntries].map(String);
  const bytes = data.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
  return redis.script<EventId[]>(append, [stream], [channelOf(stream), ...numbers, ...bytes]);
}

/**
 * Tries the commands of `appendTo` without changing anything.
 * @throws DomainError `unavailable` if the login may not run one of them. Without this check followers would wait for entries that can
 * never be appended.
 */
export async function checkMayAppend(redis: RedisConnection, stream: string): Promise<void> {
  try {
    await redis.script(tryAppend, [stream], [channelOf(stream)]);
  } catch (error) {
    if (isDomainError(error)) throw error;
  }
}

/** Returns the entries after an id, in order. */
export async function entriesAfter(
  redis: RedisConnection,
  stream: string,
  after: EventId,
  count: number,
): Promise<LinkedEntry[]> {
  const rows = await redis.command<Row[]>(['XRANGE', stream, `(${after}`, '+', 'COUNT', String(count)], asBytes);
  return rows.map(toEntry);
}

export async function oldestEntry(redis: RedisConnection, stream: string): Promise<LinkedEntry | undefined> {
  const [row] = await redis.command<Row[]>(['XRANGE', stream, '-', '+', 'COUNT', '1'], asBytes);
  return row && toEntry(row);
}

/** Returns the newest id; undefined when the stream does not exist. */
export async function newestId(redis: RedisConnection, stream: string): Promise<EventIdParts | undefined> {
  const [row] = await redis.command<Row[]>(['XREVRANGE', stream, '+', '-', 'COUNT', '1'], asBytes);
  return row && eventIdParts(row[0].toString('latin1'));
}

/** An entry as Redis returns it: `[id, ['previous', id, 'data', bytes]]`. */
type Row = [id: Buffer, fields: Buffer[]];

const asBytes = { bytes: true };

function toEntry([id, [, previous, , data]]: Row): LinkedEntry {
  if (!previous || !data) throw new TypeError(`Redis holds a stream that this log has not written: ${id}`);
  return { id: id.toString('latin1'), previous: previous.toString('latin1'), data };
}

/**
 * The first id of an append is above the newest entry, the floor and the server's clock, so that ids grow despite a step back of the clock
 * or a loss of the stream.
 *
 * Each entry has the id of the previous entry. So the oldest entry shows from which id on the stream is complete, without a second key that
 * could be lost alone. After a loss of the stream, its first entry refers to an id that no reader has: the id just below its own, in a new
 * millisecond.
 */
const append = redisScript(`
local stream, channel = KEYS[1], ARGV[1]
local ms, n, isNew = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local ttl, max_length = tonumber(ARGV[5]), tonumber(ARGV[6])
local function id() return string.format('%.0f-%.0f', ms, n) end

local previous
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
if newest then
  local newestMs, newestN = string.match(newest[1], '^(%d+)-(%d+)$')
  newestMs, newestN = tonumber(newestMs), tonumber(newestN)
  if ms > newestMs or (ms == newestMs and n > newestN) then
    redis.call('DEL', stream)
  else
    ms, n, previous = newestMs, newestN, newest[1]
  end
elseif isNew then
  previous = '0-0'
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if now > ms then ms, n = now, 0 elseif not previous then ms, n = ms + 1, 0 end
previous = previous or id()
local before = previous

local ids = {}
for i = 7, #ARGV do
  n = n + 1
  local given = id()
  redis.call('XADD', stream, given, 'previous', previous, 'data', ARGV[i])
  ids[#ids + 1] = given
  previous = given
end
redis.call('XTRIM', stream, 'MINID', '~', string.format('%.0f', math.max(0, now - ttl)))
if redis.call('XLEN', stream) > max_length then redis.call('XTRIM', stream, 'MAXLEN', '~', max_length) end
redis.call('PEXPIRE', stream, ttl)
if #ids == 1 and #ARGV[7] <= ${maxPublishedBytes} then
  redis.call('PUBLISH', channel, before .. ' ' .. previous .. ' ' .. ARGV[7])
else
  redis.call('PUBLISH', channel, previous)
end
return ids
`);

/** Followers that receive an empty message read the stream, and find nothing new. */
const tryAppend = redisScript(`
local stream, channel = KEYS[1], ARGV[1]
redis.call('TIME')
if redis.call('XLEN', stream) == 0 then
  redis.call('XADD', stream, 'NOMKSTREAM', '0-1', 'data', '')
  redis.call('XTRIM', stream, 'MAXLEN', 1)
  redis.call('PEXPIRE', stream, 1)
  redis.call('DEL', stream)
end
redis.call('PUBLISH', channel, '')
`);
