import test from 'ava';
import { wasNotSent } from './subgraph-connections.ts';

const failed = (code: string, syscall?: string) =>
  Object.assign(new Error(code), { code, ...(syscall && { syscall }) });

test('a request was not sent where there was no connection', (t) => {
  t.true(wasNotSent(failed('ECONNREFUSED', 'connect')));
  t.true(wasNotSent(failed('ECONNREFUSED')), 'all addresses of a name were tried');
  t.true(wasNotSent(failed('EHOSTUNREACH', 'connect')));
  t.true(wasNotSent(failed('ENOTFOUND', 'getaddrinfo')));
  t.true(wasNotSent(failed('UND_ERR_CONNECT_TIMEOUT')));
});

test('a request may have run where its connection was lost, also for want of a way to the other process', (t) => {
  t.false(wasNotSent(failed('UND_ERR_SOCKET')));
  t.false(wasNotSent(failed('ECONNRESET', 'read')));
  t.false(wasNotSent(failed('EHOSTUNREACH', 'read')));
  t.false(wasNotSent(failed('ENETUNREACH', 'write')));
});
