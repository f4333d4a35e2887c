import test from 'ava';
import { clientNetwork, plainAddress } from './client-network.ts';

test('limits count IPv6 clients by their /64, and IPv4-mapped IPv6 as IPv4', (t) => {
  t.is(clientNetwork('203.0.113.9'), '203.0.113.9');
  t.is(clientNetwork('::ffff:203.0.113.9'), '203.0.113.9');
  t.is(clientNetwork('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  t.is(clientNetwork('2001:db8:1:2:ffff::'), '2001:db8:1:2::/64');
  t.not(clientNetwork('2001:db8:1:3::1'), clientNetwork('2001:db8:1:2::1'));
  t.is(clientNetwork('fe80::1%eth0'), 'fe80::/64');
  for (const zone of ['eth0.100', 'a-b', 'en0:1', '1']) t.is(clientNetwork(`fe80::1%${zone}`), 'fe80::/64', zone);
  t.is(clientNetwork('::1'), '::/64');
  for (const none of ['', 'not an address', '0x7f.1', '1.2.3']) t.is(clientNetwork(none), 'unknown', none);
});

test('a plain address is canonical and has no zone', (t) => {
  t.is(plainAddress('fe80::1%eth0.100'), 'fe80::1');
  t.is(plainAddress('2001:DB8:0:0::1'), '2001:db8::1');
  t.is(plainAddress('::ffff:192.0.2.7%eth0'), '192.0.2.7');
  t.is(plainAddress('192.0.2.7'), '192.0.2.7');
  for (const none of ['', 'not an address', '192.0.2.7%eth0', '%', '1.2.3']) t.is(plainAddress(none), undefined, none);
});
