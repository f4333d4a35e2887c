import { unavailable } from '@parley/kernel/errors';
import test from 'ava';
import { ServerError, Status } from 'nice-grpc-common';
import { outcomeOf, serverErrors } from './server-errors.ts';

test('a call of a unit that this one does not know is an error of ours, as with another MESH_KEY', (t) => {
  const outcomes = ['UNAUTHENTICATED', 'INTERNAL', 'UNAVAILABLE', 'NOT_FOUND', 'RESOURCE_EXHAUSTED'] as const;
  t.deepEqual(
    outcomes.map((status) => outcomeOf(new ServerError(Status[status], 'it'))),
    ['error', 'error', 'error', 'refused', 'refused'],
  );
  t.is(outcomeOf(new Error('bug')), 'error');
});

test('whatever a call fails with after its client has cancelled it is CANCELLED, and not logged', async (t) => {
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
