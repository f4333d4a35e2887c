import { unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import type { KeyValue } from '@parley/live/key-value/key-value';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import test from 'ava';
import { knownNetworks } from './known-networks.ts';

const dayMs = 86_400_000;
const log = createLogger('test');
const ring = [{ id: 't1', key: Buffer.alloc(32, 1) }] as const;

/** A store with a controlled clock, the calls that the store received, and the known networks of a gateway that uses this store. */
function setup() {
  const clock = { ms: 0 };
  const now = () => clock.ms;
  const memory = memoryKeyValue({ now });
  const calls: [string, ...unknown[]][] = [];
  const keyValue: Pick<KeyValue, 'get' | 'set'> = {
    get(key) {
      calls.push(['get', key]);
      return memory.get(key);
    },
    set(...given) {
      calls.push(['set', ...given]);
      return memory.set(...given);
    },
  };
  return { clock, calls, gateway: () => knownNetworks({ keyValue, ring: [...ring], log, now }) };
}

test('a network is known to all gateways for 30 days after a sign-in', async (t) => {
  const { clock, gateway } = setup();
  const [one, other] = [gateway(), gateway()];
  const before = await one.find('192.0.2.7');
  t.false(before.isKnown);
  before.signedIn();
  t.true((await other.find('192.0.2.7')).isKnown);
  t.false((await other.find('192.0.2.8')).isKnown);
  clock.ms = 30 * dayMs - 1;
  t.true((await one.find('192.0.2.7')).isKnown);
  clock.ms = 30 * dayMs;
  t.false((await one.find('192.0.2.7')).isKnown);
});

test('an attempt reads once, and sign-ins write once a day', async (t) => {
  const { clock, calls, gateway } = setup();
  const networks = gateway();
  const operations = () => calls.splice(0).map(([name]) => name);
  await networks.find('192.0.2.7');
  t.deepEqual(operations(), ['get']);
  (await networks.find('192.0.2.7')).signedIn();
  t.deepEqual(operations(), ['get', 'set']);
  clock.ms = dayMs - 1;
  (await networks.find('192.0.2.7')).signedIn();
  t.deepEqual(operations(), ['get']);
  clock.ms = dayMs;
  (await networks.find('192.0.2.7')).signedIn();
  t.deepEqual(operations(), ['get', 'set']);
});

test('neither key nor value contains the address, and a key without the secret cannot be computed', async (t) => {
  const { calls, gateway } = setup();
  (await gateway().find('2001:db8:1:2::/64')).signedIn();
  for (const [, key] of calls) t.regex(String(key), /^parley:known-network:[\w-]{43}$/u);
  t.notRegex(JSON.stringify(calls), /2001|db8/u);
  const [, key] = calls[0] ?? [];
  const keys: string[] = [];
  const keyValue = {
    get: async (asked: string) => void keys.push(asked),
    set: async () => undefined,
  } as unknown as KeyValue;
  await knownNetworks({ keyValue, ring: [{ id: 't2', key: Buffer.alloc(32, 2) }], log }).find('2001:db8:1:2::/64');
  t.not(keys[0], String(key));
});

test('without the store a network is new, and no call throws', async (t) => {
  for (const error of [unavailable('Redis is unavailable'), new Error('NOPERM')]) {
    const fail = async () => {
      throw error;
    };
    const networks = knownNetworks({ keyValue: { get: fail, set: fail }, ring: [...ring], log });
    const found = await networks.find('192.0.2.7');
    t.false(found.isKnown);
    t.notThrows(found.signedIn);
  }
});

test('clients without a readable address are never known', async (t) => {
  const { calls, gateway } = setup();
  const networks = gateway();
  (await networks.find('unknown')).signedIn();
  t.false((await networks.find('unknown')).isKnown);
  t.deepEqual(calls, []);
});
