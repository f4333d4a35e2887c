import test from 'ava';
import { wasNotSent } from './subgraph-connections.ts';

const failed = (code: string, syscall?: string) =>
  Object.assign(new Error(code), { code, ...(syscall && { syscall }) });

test('a request whose connection was never opened was not sent', (t) => {
  t.true(wasNotSent(failed('ECONNREFUSED', 'connect')));
  t.true(wasNotSent(failed('ECONNREFUSED')), 'all addresses of a name were tried');
  t.true(wasNotSent(failed('EHOSTUNREACH', 'connect')));
  t.true(wasNotSent(failed('ENOTFOUND', 'getaddrinfo')));
  t.true(wasNotSent(failed('UND_ERR_CONNECT_TIMEOUT')));
  t.true(wasNotSent(failed('EADDRNOTAVAIL', 'connect')), 'IPv6 on a host without it');
  t.true(wasNotSent(failed('ERR_TLS_CERT_ALTNAME_INVALID')));
  t.true(wasNotSent(failed('CERT_HAS_EXPIRED')));
});

test('a request may have run if its open connection was lost, even by a routing error', (t) => {
  t.false(wasNotSent(failed('UND_ERR_SOCKET')));
  t.false(wasNotSent(failed('ECONNRESET', 'read')));
  t.false(wasNotSent(failed('EHOSTUNREACH', 'read')));
  t.false(wasNotSent(failed('ENETUNREACH', 'write')));
});
