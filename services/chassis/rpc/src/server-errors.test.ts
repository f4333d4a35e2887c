import test from 'ava';
import { ServerError, Status } from 'nice-grpc-common';
import { outcomeOf } from './server-errors.ts';

test('a call of a unit that this one does not know is an error of ours, as with another MESH_KEY', (t) => {
  const outcomes = ['UNAUTHENTICATED', 'INTERNAL', 'UNAVAILABLE', 'NOT_FOUND', 'RESOURCE_EXHAUSTED'] as const;
  t.deepEqual(
    outcomes.map((status) => outcomeOf(new ServerError(Status[status], 'it'))),
    ['error', 'error', 'error', 'refused', 'refused'],
  );
  t.is(outcomeOf(new Error('bug')), 'error');
});
