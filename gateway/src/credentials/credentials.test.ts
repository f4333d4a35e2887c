import test from 'ava';
import { readCredentials } from './credentials.ts';

test('a bearer and an API key are read, whatever the case of their names', (t) => {
  t.deepEqual(readCredentials({ authorization: 'Bearer abc', 'x-api-key': 'sk_1' }), { bearer: 'abc', apiKey: 'sk_1' });
  t.deepEqual(readCredentials({ Authorization: 'bearer  abc ', 'X-API-Key': 'sk_1' }), {
    bearer: 'abc',
    apiKey: 'sk_1',
  });
  t.deepEqual(readCredentials({ other: 'x' }), {});
});

test('what is no bearer and no text is nothing', (t) => {
  for (const value of ['Basic abc', 'Bearer', 'Bearer a b', 'abc', '', ['Bearer abc'], 7, null, undefined, { a: 1 }]) {
    t.deepEqual(readCredentials({ authorization: value }), {});
  }
  t.deepEqual(readCredentials({ 'x-api-key': ['sk_1'] }), {});
});
