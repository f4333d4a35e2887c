import test from 'ava';
import { requestIdFrom } from './request-id.ts';

test('a well-formed id is kept', (t) => {
  for (const id of ['a', 'order-66:step.2_b', 'x'.repeat(128)]) t.is(requestIdFrom(id), id);
});

test('anything else gets a new id, a different one each time', (t) => {
  for (const given of ['', ' a', 'a b', 'a\nb', 'ü', 'x'.repeat(129), undefined, ['a', 'b'], 7]) {
    t.regex(requestIdFrom(given), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  }
  t.not(requestIdFrom(''), requestIdFrom(''));
});
