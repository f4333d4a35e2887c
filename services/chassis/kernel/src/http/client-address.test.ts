import test from 'ava';
import { clientAddress } from './client-address.ts';

function seen(trustedProxies: string[], remoteAddress: string | undefined, forwardedFor?: string): string {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return clientAddress(trustedProxies)({ headers, socket: { remoteAddress } });
}

test("the client is the peer of the socket, and an untrusted peer's headers are ignored", (t) => {
  t.is(seen([], '203.0.113.9'), '203.0.113.9');
  t.is(seen([], '203.0.113.9', '198.51.100.1'), '203.0.113.9');
  t.is(seen(['10.0.0.0/8'], '203.0.113.9', '198.51.100.1'), '203.0.113.9');
  t.is(seen(['10.0.0.0/8'], undefined), '');
});

test('behind trusted proxies the client is the right-most untrusted hop', (t) => {
  const proxies = ['10.0.0.0/8', '2001:db8::1'];
  t.is(seen(proxies, '10.1.2.3'), '10.1.2.3');
  t.is(seen(proxies, '10.1.2.3', '198.51.100.1'), '198.51.100.1');
  t.is(seen(proxies, '10.1.2.3', '6.6.6.6, 198.51.100.1'), '198.51.100.1');
  t.is(seen(proxies, '10.1.2.3', '6.6.6.6, 198.51.100.1, 10.9.9.9,2001:db8::1'), '198.51.100.1');
  t.is(seen(proxies, '2001:db8::1', '2001:db8:0:0:7::5'), '2001:db8::7:0:0:5');
  t.is(seen(proxies, '10.1.2.3', '10.4.4.4, 10.5.5.5'), '10.4.4.4');
});

test('IPv4 within IPv6 is IPv4, for clients and for proxies', (t) => {
  t.is(seen([], '::ffff:203.0.113.9'), '203.0.113.9');
  t.is(seen(['127.0.0.0/8'], '::ffff:127.0.0.1', '::ffff:198.51.100.1'), '198.51.100.1');
});

test('an IPv4-mapped IPv6 network is an IPv4 network', (t) => {
  t.is(seen(['::ffff:10.0.0.0/104'], '10.1.2.3', '198.51.100.1'), '198.51.100.1');
  t.is(seen(['::ffff:10.1.2.3'], '10.1.2.3', '198.51.100.1'), '198.51.100.1');
  t.is(seen(['::ffff:10.0.0.0/104'], '11.1.2.3', '198.51.100.1'), '11.1.2.3');
});

test('a hop may have a port; an invalid hop counts as the proxy that added it', (t) => {
  t.is(seen(['10.0.0.0/8'], '10.1.2.3', '198.51.100.1:4711'), '198.51.100.1');
  t.is(seen(['10.0.0.0/8'], '10.1.2.3', '[2001:db8::7]:4711'), '2001:db8::7');
  for (const odd of ['unknown', '', '198.51.100.1,', '0x7f.1', '010.0.0.1', '1.2.3', '198.51.100.1, <script>']) {
    t.is(seen(['10.0.0.0/8'], '10.1.2.3', odd), '10.1.2.3', odd);
  }
});
