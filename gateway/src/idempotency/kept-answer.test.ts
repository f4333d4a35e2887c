import { graphError } from '@parley/graph/graph-errors';
import { keyInProgress } from '@parley/kernel/idempotency';
import test from 'ava';
import type { FormattedExecutionResult } from 'graphql';
import { answerToKeep } from './kept-answer.ts';

const failed = (statusCode: number) => ({ message: 'no', extensions: { code: 'X', statusCode } });
const kept = (answer: FormattedExecutionResult, tookEffect = false) => {
  const bytes = answerToKeep(answer, { maxBytes: 1_000, tookEffect });
  return bytes && JSON.parse(bytes.toString());
};

test('answers and refusals are kept as they are', (t) => {
  for (const answer of [
    { data: { a: { id: 1 } } },
    { data: { a: null } },
    { data: {} },
    { data: null, errors: [failed(400)] },
    { errors: [failed(403), failed(404), failed(409)] },
  ]) {
    t.deepEqual(kept(answer), answer);
  }
});

test('401, 429 and 5xx are not kept', (t) => {
  for (const status of [401, 429, 500, 501, 503]) {
    t.is(kept({ data: null, errors: [failed(status)] }), undefined);
    t.is(kept({ data: { a: null }, errors: [failed(400), failed(status)] }), undefined);
  }
});

test('the answer of a request that took effect in part is kept, because a retry would repeat that part', (t) => {
  for (const answer of [
    { data: null, errors: [failed(503)] },
    { data: { a: { id: 1 }, b: null }, errors: [failed(429)] },
  ]) {
    t.deepEqual(kept(answer, true), answer);
  }
});

test('a conflict with an earlier attempt that is in progress is not kept', (t) => {
  t.is(kept({ data: null, errors: [graphError(keyInProgress()).toJSON()] }), undefined);
});

test('retries of a request with a large answer get a conflict that explains it', (t) => {
  const refusal = { errors: [{ extensions: { code: 'CONFLICT', statusCode: 409, reason: 'ANSWER_NOT_KEPT' } }] };
  t.like(kept({ data: { a: 'x'.repeat(1_000) } }), refusal);
  t.like(kept({ data: { a: 'é'.repeat(495) } }), refusal, 'in bytes');
  t.deepEqual(kept({ data: { a: 'x'.repeat(983) } }), { data: { a: 'x'.repeat(983) } });
  t.is(kept({ data: null, errors: [{ ...failed(503), message: 'x'.repeat(2_000) }] }), undefined);
});
