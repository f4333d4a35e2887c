import test from 'ava';
import {
  clientNetwork,
  isWithin,
  plainAddress,
  readAddress,
  readNetwork,
  widerNetwork,
  widestNetwork,
} from './client-network.ts';

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

test('a network is an address or CIDR', (t) => {
  for (const right of ['10.0.0.0/8', '10.0.0.1', '::1', '2001:db8::/32', '0.0.0.0/0']) {
    t.notThrows(() => readNetwork(right), right);
  }
  for (const wrong of [
    '10.0.0.0/33',
    '::/129',
    'proxy',
    '10.0.0.0/',
    '10.0.0/8',
    '10.0.0.0/-1',
    '10.0.0.0/8/8x',
    '::ffff:10.0.0.0/90',
    '',
  ]) {
    t.throws(() => readNetwork(wrong), undefined, wrong);
  }
});

test('an IPv4 address is in no IPv6 network, and vice versa', (t) => {
  const within = (address: string, network: string) => isWithin(readAddress(address) ?? t.fail(), readNetwork(network));
  t.true(within('10.1.2.3', '10.0.0.0/8'));
  t.true(within('2001:db8::7', '2001:db8::/32'));
  t.true(within('::ffff:10.1.2.3', '10.0.0.0/8'));
  t.false(within('11.1.2.3', '10.0.0.0/8'));
  t.false(within('10.1.2.3', '::/0'));
  t.false(within('2001:db8::7', '0.0.0.0/0'));
});

test('the wider network of an address is a /24 or a /48', (t) => {
  t.is(widerNetwork('203.0.113.9'), '203.0.113.0/24');
  t.is(widerNetwork('::ffff:203.0.113.9'), '203.0.113.0/24');
  t.is(widerNetwork('2001:db8:1:2:3:4:5:6'), '2001:db8:1::/48');
  t.is(widerNetwork('fe80::1%eth0'), 'fe80::/48');
  t.is(widerNetwork('nowhere'), 'unknown');
});

test('the widest network of an address is a /16 or a /32', (t) => {
  t.is(widestNetwork('203.0.113.9'), '203.0.0.0/16');
  t.is(widestNetwork('::ffff:203.0.113.9'), '203.0.0.0/16');
  t.is(widestNetwork('2001:db8:1:2:3:4:5:6'), '2001:db8::/32');
  t.is(widestNetwork('nowhere'), 'unknown');
});
