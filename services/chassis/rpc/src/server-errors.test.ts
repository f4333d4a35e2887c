import { unavailable } from '@parley/kernel/errors';
import test from 'ava';
import { ServerError, Status } from 'nice-grpc-common';
import { outcomeOf, serverErrors } from './server-errors.ts';

test('a call of an unknown unit, e.g. with another MESH_KEY, counts as our own error', (t) => {
  const outcomes = ['UNAUTHENTICATED', 'INTERNAL', 'UNAVAILABLE', 'NOT_FOUND', 'RESOURCE_EXHAUSTED'] as const;
  t.deepEqual(
    outcomes.map((status) => outcomeOf(new ServerError(Status[status], 'it'))),
    ['error', 'error', 'error', 'refused', 'refused'],
  );
  t.is(outcomeOf(new Error('bug')), 'error');
});

test('any error of a call that its client has cancelled becomes CANCELLED, and is not logged', async (t) => {
  const client = new AbortController();
  const log = { error: () => t.fail(), warn: () => t.fail() };
  async function* next() {
    yield 'one';
    client.abort();
    throw unavailable('The database is not available');
  }
  const call = { next, request: undefined, method: { path: '/parley.Test/Call' } };
  const answers = serverErrors(log as never)(call as never, { signal: client.signal } as never);
  t.deepEqual(await answers.next(), { done: false, value: 'one' });
  t.like(await t.throwsAsync(answers.next()), { code: Status.CANCELLED });
});
