import test from 'ava';
import { notFound } from './errors.ts';

test('a not-found error names the id, and truncates a long one', (t) => {
  t.is(notFound('Session', 12).message, 'Session 12 not found');
  t.is(notFound('Session', '9'.repeat(40)).message, `Session ${'9'.repeat(40)} not found`);
  t.is(notFound('Session', '9'.repeat(400_000)).message, `Session ${'9'.repeat(40)}… not found`);
});
