import { changingName } from '@parley/testing/changing-name';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { subgraphAddresses } from './subgraph-addresses.ts';

const { signal } = new AbortController();
const hourMs = 3_600_000;

/** Returns the origins of the next requests, sorted. */
async function nextOf({ next }: ReturnType<typeof subgraphAddresses>, count: number): Promise<string[]> {
  const origins: string[] = [];
  for (let n = 0; n < count; n += 1) origins.push(await next(signal));
  return origins.sort();
}

test('addresses of a name are used in turn', async (t) => {
  const name = changingName(t, 'turn.addresses.invalid');
  name.set('10.0.0.1', '10.0.0.2', '10.0.0.2', '10.0.0.3');
  const addresses = subgraphAddresses({ url: 'https://turn.addresses.invalid:4001', lookupIntervalMs: hourMs });
  const each = ['https://10.0.0.1:4001', 'https://10.0.0.2:4001', 'https://10.0.0.3:4001'];
  t.deepEqual(await nextOf(addresses, 3), each);
  t.deepEqual(await nextOf(addresses, 3), each);
  t.is(name.lookups, 1);
});

test('an address that refused is skipped while another one remains, until the next lookup', async (t) => {
  const name = changingName(t, 'skip.addresses.invalid');
  name.set('10.0.0.1', '10.0.0.2');
  const addresses = subgraphAddresses({ url: 'http://skip.addresses.invalid', lookupIntervalMs: 1 });
  await addresses.next(signal);
  name.set();
  t.true(addresses.skip('http://10.0.0.1'));
  t.deepEqual(await nextOf(addresses, 2), ['http://10.0.0.2', 'http://10.0.0.2']);
  t.false(addresses.skip('http://10.0.0.2'));
  t.deepEqual(await nextOf(addresses, 2), ['http://10.0.0.1', 'http://10.0.0.2'], 'all are tried again');

  name.set('10.0.0.1', '10.0.0.2');
  addresses.skip('http://10.0.0.2');
  await eventually('it is used again', async () => (await addresses.next(signal)) === 'http://10.0.0.2');
});

test('a name is looked up again at the interval, once for all requests', async (t) => {
  const name = changingName(t, 'again.addresses.invalid');
  name.set('10.0.0.1');
  const addresses = subgraphAddresses({ url: 'http://again.addresses.invalid', lookupIntervalMs: 20 });
  await Promise.all([addresses.next(signal), addresses.next(signal), addresses.next(signal)]);
  t.is(name.lookups, 1);
  name.set('10.0.0.7');
  await eventually('the new address is used', async () => (await addresses.next(signal)) === 'http://10.0.0.7');
});

test('the last addresses remain in use while DNS fails; without any its error is thrown', async (t) => {
  const name = changingName(t, 'fails.addresses.invalid');
  const addresses = subgraphAddresses({ url: 'http://fails.addresses.invalid', lookupIntervalMs: 1 });
  await t.throwsAsync(addresses.next(signal), { code: 'EAI_AGAIN' });
  name.set('10.0.0.1');
  t.is(await addresses.next(signal), 'http://10.0.0.1');
  name.set();
  const before = name.lookups;
  await eventually('lookups have failed', async () => {
    t.is(await addresses.next(signal), 'http://10.0.0.1');
    return name.lookups > before + 2;
  });
});

test('a lookup that hangs ends with its request, and old addresses are used while it does', async (t) => {
  const name = changingName(t, 'hangs.addresses.invalid');
  name.hang();
  const addresses = subgraphAddresses({ url: 'http://hangs.addresses.invalid', lookupIntervalMs: 1 });
  const stopping = new AbortController();
  const first = t.throwsAsync(addresses.next(stopping.signal), { message: 'The client disconnected' });
  stopping.abort(new Error('The client disconnected'));
  await first;

  name.set('10.0.0.1');
  t.is(await addresses.next(signal), 'http://10.0.0.1');
  name.hang();
  await addresses.next(signal);
  t.is(await addresses.next(signal), 'http://10.0.0.1');
});

test('an IP address is used as it is', async (t) => {
  for (const url of ['http://127.0.0.1:4001', 'https://[::1]:4001']) {
    const { next, skip } = subgraphAddresses({ url, lookupIntervalMs: 1 });
    t.is(await next(signal), url);
    t.false(skip(url));
  }
});
