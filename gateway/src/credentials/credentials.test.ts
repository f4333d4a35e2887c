import test from 'ava';
import { readCredentials } from './credentials.ts';

test('a bearer token and an API key are read by case-insensitive names', (t) => {
  t.deepEqual(readCredentials({ authorization: 'Bearer abc', 'x-api-key': 'sk_1' }), { bearer: 'abc', apiKey: 'sk_1' });
  t.deepEqual(readCredentials({ Authorization: 'bearer  abc ', 'X-API-Key': 'sk_1' }), {
    bearer: 'abc',
    apiKey: 'sk_1',
  });
  t.deepEqual(readCredentials({ other: 'x' }), {});
});

test('anything but a bearer token or a string is ignored', (t) => {
  for (const value of ['Basic abc', 'Bearer', 'Bearer a b', 'abc', '', ['Bearer abc'], 7, null, undefined, { a: 1 }]) {
    t.deepEqual(readCredentials({ authorization: value }), {});
  }
  t.deepEqual(readCredentials({ 'x-api-key': ['sk_1'] }), {});
});
