import test from 'ava';
import { rpcTarget } from './rpc-target.ts';

test('one address is the target unchanged', (t) => {
  for (const address of ['127.0.0.1:4001', 'session.parley.svc:4001', '[::1]:4001']) t.is(rpcTarget(address), address);
});

test('several addresses are one target', (t) => {
  t.is(rpcTarget('127.0.0.1:4001, 127.0.0.1:4002'), 'ipv4:127.0.0.1:4001,127.0.0.1:4002');
  t.is(rpcTarget('[::1]:4001,[::1]:4002'), 'ipv6:[::1]:4001,[::1]:4002');
});

test('a list that gRPC cannot dial is refused', (t) => {
  for (const address of ['session-1:4001,session-2:4001', '127.0.0.1:4001,[::1]:4001']) {
    t.throws(() => rpcTarget(address), { message: /IP addresses of one version/u }, address);
  }
});

test('an invalid address is refused', (t) => {
  const wrong = [
    'http://notes:5000',
    'notes',
    'notes :5000',
    ':',
    ':5000',
    'notes:0',
    'notes:99999',
    '::1:4001',
    '127.0.0.1,127.0.0.1',
    '127.0.0.1:1,',
  ];
  for (const address of wrong) t.throws(() => rpcTarget(address), { message: /is not host:port/u }, address);
});
