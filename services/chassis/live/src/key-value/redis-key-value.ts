import { unavailable } from '@parley/kernel/errors';
import { ErrorReply } from '@redis/client';
import { type RedisConnection, type RedisScript, redisScript } from '../redis/redis-connection.ts';
import {
  type CountAnswer,
  type CountEntry,
  type CountWindow,
  checkAmounts,
  checkCountEntries,
  checkKey,
  checkTtl,
  type KeyValue,
} from './key-value.ts';

/** The key-value engine that all replicas share. `close` does not close the connection. */
export function redisKeyValue(connection: RedisConnection): KeyValue {
  const leavers = new Set<() => void>();
  let closed = false;

  function use(...keys: string[]): void {
    if (closed) throw unavailable('The key-value store is closed');
    keys.forEach(checkKey);
  }

  async function onCounters<T>(script: RedisScript, entries: { key: string }[], args: string[]): Promise<T> {
    const keys = entries.map(({ key }) => key);
    try {
      return await connection.script<T>(script, keys, args);
    } catch (error) {
      const [, number] = (error instanceof ErrorReply && /NOCOUNTER (\d+)/.exec(error.message)) || [];
      if (number === undefined) throw error;
      throw new TypeError(`${keys[Number(number) - 1]} holds no counter`, { cause: error });
    }
  }

  return {
    async get(key) {
      use(key);
      return (await connection.command<string | null>(['GET', key])) ?? undefined;
    },

    async set(key, value, { ttlMs }) {
      use(key);
      checkTtl(ttlMs);
      await connection.command(['SET', key, value, 'PX', String(ttlMs)]);
    },

    async setIfAbsent(key, value, { ttlMs }) {
      use(key);
      checkTtl(ttlMs);
      return (await connection.command<string | null>(['SET', key, value, 'PX', String(ttlMs), 'NX'])) !== null;
    },

    async delete(key) {
      use(key);
      return (await connection.command<number>(['DEL', key])) > 0;
    },

    async countAll(entries) {
      use();
      checkCountEntries(entries);
      if (entries.length === 0) return { counted: true, windows: [] };
      const amounts = entries.flatMap(({ requests, windowMs, amount }) => [requests, windowMs, amount].map(String));
      return toAnswer(entries, await onCounters<number[]>(countAll, entries, amounts));
    },

    async giveBack(entries) {
      use();
      checkAmounts(entries);
      if (entries.length === 0) return;
      const amounts = entries.map(({ amount }) => String(amount));
      await onCounters(giveBack, entries, amounts);
    },

    async publish(channel, message) {
      use(channel);
      await connection.command(['PUBLISH', channel, message]);
    },

    async subscribe(channel, handler) {
      use(channel);
      const leave = await connection.subscribe(channel, { message: (bytes) => handler(bytes.toString()) });
      leavers.add(leave);
      if (closed) leave();
      return async () => {
        leavers.delete(leave);
        leave();
      };
    },

    async ping() {
      use();
      await connection.ready();
    },

    async close() {
      closed = true;
      for (const leave of leavers) leave();
      leavers.clear();
    },
  };
}

/**
 * Evaluates all entries, then counts all or none. Returns {1, count, endsInMs, count, endsInMs, …} in the order of the
 * entries, or {0, number of the refused entry, count, endsInMs}.
 */
const countAll = redisScript(`
local counters = {}
for i, key in ipairs(KEYS) do
  local amount = tonumber(ARGV[3 * i])
  local counter = counters[key]
  if counter then
    counter.amount = counter.amount + amount
  else
    local found = redis.call('GET', key)
    local before = tonumber(found or 0)
    if not before then return redis.error_reply('NOCOUNTER ' .. i) end
    local ends = found and redis.call('PTTL', key) or tonumber(ARGV[3 * i - 1])
    counters[key] = { isNew = not found, before = before, amount = amount, ends = math.max(1, ends) }
  end
end

local refused
for i, key in ipairs(KEYS) do
  local counter = counters[key]
  if counter.before + counter.amount > tonumber(ARGV[3 * i - 2]) then
    if not refused or counter.ends > counters[KEYS[refused]].ends then refused = i end
  end
end
if refused then
  local counter = counters[KEYS[refused]]
  return { 0, refused, counter.before, counter.ends }
end

local answer = { 1 }
for _, key in ipairs(KEYS) do
  local counter = counters[key]
  if counter.amount > 0 and not counter.isDone then
    local amount = string.format('%.0f', counter.amount)
    if counter.isNew then redis.call('SET', key, amount, 'PX', counter.ends)
    else redis.call('INCRBY', key, amount) end
    counter.isDone = true
  end
  answer[#answer + 1] = counter.before + counter.amount
  answer[#answer + 1] = counter.ends
end
return answer
`);

/** Checks all counters, then subtracts from each at most its count; DECRBY keeps the time to live. */
const giveBack = redisScript(`
for i, key in ipairs(KEYS) do
  if not tonumber(redis.call('GET', key) or 0) then return redis.error_reply('NOCOUNTER ' .. i) end
end
for i, key in ipairs(KEYS) do
  local amount = math.min(tonumber(redis.call('GET', key) or 0), tonumber(ARGV[i]))
  if amount > 0 then redis.call('DECRBY', key, string.format('%.0f', amount)) end
end
return 1
`);

function toAnswer(entries: CountEntry[], [counted, ...rest]: number[]): CountAnswer {
  const at = (index: number) => rest[index] ?? 0;
  const toWindow = ({ key, requests }: CountEntry, index: number): CountWindow => ({
    key,
    requests,
    count: at(index),
    endsInMs: at(index + 1),
  });
  if (counted) return { counted: true, windows: entries.map((entry, n) => toWindow(entry, 2 * n)) };
  const refused = entries[at(0) - 1];
  if (!refused) throw new TypeError('Redis refused an entry that was not asked for');
  return { counted: false, refused: toWindow(refused, 1) };
}
