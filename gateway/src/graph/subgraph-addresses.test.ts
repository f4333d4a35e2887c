import { changingName } from '@parley/testing/changing-name';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { subgraphAddresses } from './subgraph-addresses.ts';

const { signal } = new AbortController();
const hourMs = 3_600_000;

type Addresses = ReturnType<typeof subgraphAddresses>;

/** Returns the origin of a request that gets a response. */
async function originOf({ choose }: Addresses): Promise<string> {
  const address = await choose(signal);
  address.responded();
  return address.origin;
}

/** Returns the origins of the next requests, sorted. Each request gets its response before the next one. */
async function originsOf(addresses: Addresses, count: number): Promise<string[]> {
  const origins: string[] = [];
  for (let n = 0; n < count; n += 1) origins.push(await originOf(addresses));
  return origins.sort();
}

test('addresses of a name are used in rotation', async (t) => {
  const name = changingName(t, 'rotation.addresses.invalid');
  name.set('10.0.0.1', '10.0.0.2', '10.0.0.2', '10.0.0.3');
  const addresses = subgraphAddresses({ url: 'https://rotation.addresses.invalid:4001', lookupIntervalMs: hourMs });
  const each = ['https://10.0.0.1:4001', 'https://10.0.0.2:4001', 'https://10.0.0.3:4001'];
  t.deepEqual(await originsOf(addresses, 3), each);
  t.deepEqual(await originsOf(addresses, 3), each);
  t.is(name.lookups, 1);
});

test('an address that does not respond gets no more requests than it holds', async (t) => {
  const name = changingName(t, 'hung.addresses.invalid');
  name.set('10.0.0.1', '10.0.0.2');
  const addresses = subgraphAddresses({ url: 'http://hung.addresses.invalid', lookupIntervalMs: hourMs });
  const held = await addresses.choose(signal);
  const origins = await originsOf(addresses, 6);
  t.is(origins.filter((origin) => origin === held.origin).length, 0);
  held.failed();
  t.is(new Set(await originsOf(addresses, 2)).size, 2);
});

test('an address that was not reached is skipped while another one remains, then tried by one request', async (t) => {
  const name = changingName(t, 'skip.addresses.invalid');
  name.set('10.0.0.1', '10.0.0.2');
  let time = 0;
  const options = { lookupIntervalMs: 1, skipMs: 1_000, now: () => time };
  const addresses = subgraphAddresses({ url: 'http://skip.addresses.invalid', ...options });
  const refused = await addresses.choose(signal);
  t.true(refused.skip());
  const other = refused.origin.endsWith('1') ? 'http://10.0.0.2' : 'http://10.0.0.1';
  time = 500;
  t.deepEqual(await originsOf(addresses, 3), [other, other, other], 'also after a lookup');

  time = 1_000;
  const tried = await addresses.choose(signal);
  t.is(tried.origin, refused.origin);
  t.deepEqual(await originsOf(addresses, 2), [other, other], 'by one request');
  tried.responded();
  t.is(new Set(await originsOf(addresses, 2)).size, 2, 'and used once it has responded');
});

test('addresses that were not reached are used if no others remain', async (t) => {
  const name = changingName(t, 'none.addresses.invalid');
  name.set('10.0.0.1', '10.0.0.2');
  const addresses = subgraphAddresses({ url: 'http://none.addresses.invalid', lookupIntervalMs: hourMs });
  t.true((await addresses.choose(signal)).skip());
  t.false((await addresses.choose(signal)).skip());
  t.regex((await addresses.choose(signal)).origin, /^http:\/\/10\.0\.0\.[12]$/u);
});

test('a name is looked up again at the interval, once for all requests', async (t) => {
  const name = changingName(t, 'again.addresses.invalid');
  name.set('10.0.0.1');
  const addresses = subgraphAddresses({ url: 'http://again.addresses.invalid', lookupIntervalMs: 20 });
  await Promise.all([originOf(addresses), originOf(addresses), originOf(addresses)]);
  t.is(name.lookups, 1);
  name.set('10.0.0.7');
  await eventually('the new address is used', async () => (await originOf(addresses)) === 'http://10.0.0.7');
});

test('the last addresses remain in use while DNS fails; without any its error is thrown, without a lookup for each request', async (t) => {
  const name = changingName(t, 'fails.addresses.invalid');
  let time = 0;
  const options = { lookupIntervalMs: 1_000, now: () => time };
  const addresses = subgraphAddresses({ url: 'http://fails.addresses.invalid', ...options });
  for (let n = 0; n < 3; n += 1) await t.throwsAsync(addresses.choose(signal), { code: 'EAI_AGAIN' });
  t.is(name.lookups, 1);
  name.set('10.0.0.1');
  time = 200;
  t.is(await originOf(addresses), 'http://10.0.0.1');

  name.set();
  time = 1_300;
  t.is(await originOf(addresses), 'http://10.0.0.1');
  t.is(name.lookups, 3);
  time = 9_000;
  t.is(await originOf(addresses), 'http://10.0.0.1', 'also if they are old');
  t.is(name.lookups, 4);
});

test('a lookup that hangs ends with its request, and known addresses are used meanwhile', async (t) => {
  const name = changingName(t, 'hangs.addresses.invalid');
  name.hang();
  const addresses = subgraphAddresses({ url: 'http://hangs.addresses.invalid', lookupIntervalMs: 1 });
  const leaving = new AbortController();
  const first = t.throwsAsync(addresses.choose(leaving.signal), { message: 'The client disconnected' });
  leaving.abort(new Error('The client disconnected'));
  await first;

  name.set('10.0.0.1');
  t.is(await originOf(addresses), 'http://10.0.0.1');
  name.hang();
  for (let n = 0; n < 2; n += 1) t.is(await originOf(addresses), 'http://10.0.0.1');
  name.set('10.0.0.1');
});

test('an address that no URL can have is left out', async (t) => {
  const name = changingName(t, 'zone.addresses.invalid');
  name.set('10.0.0.1', 'fe80::1%eth0');
  const addresses = subgraphAddresses({ url: 'http://zone.addresses.invalid', lookupIntervalMs: hourMs });
  t.deepEqual(await originsOf(addresses, 2), ['http://10.0.0.1', 'http://10.0.0.1']);
});

test('an IP address is used as it is', async (t) => {
  for (const url of ['http://127.0.0.1:4001', 'https://[::1]:4001']) {
    const addresses = subgraphAddresses({ url, lookupIntervalMs: 1 });
    t.is(await originOf(addresses), url);
    t.false((await addresses.choose(signal)).skip());
    t.is(await originOf(addresses), url);
  }
});
