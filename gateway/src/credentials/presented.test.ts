import test from 'ava';
import { presentedIn } from './presented.ts';

test('a bearer and an API key are read, whatever the case of their names', (t) => {
  t.deepEqual(presentedIn({ authorization: 'Bearer abc', 'x-api-key': 'sk_1' }), { bearer: 'abc', apiKey: 'sk_1' });
  t.deepEqual(presentedIn({ Authorization: 'bearer  abc ', 'X-API-Key': 'sk_1' }), { bearer: 'abc', apiKey: 'sk_1' });
  t.deepEqual(presentedIn({ other: 'x' }), {});
});

test('what is no bearer and no text is nothing', (t) => {
  for (const value of ['Basic abc', 'Bearer', 'Bearer a b', 'abc', '', ['Bearer abc'], 7, null, undefined, { a: 1 }]) {
    t.deepEqual(presentedIn({ authorization: value }), {});
  }
  t.deepEqual(presentedIn({ 'x-api-key': ['sk_1'] }), {});
});
