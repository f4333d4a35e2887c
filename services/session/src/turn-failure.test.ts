import { DomainError, unavailable } from '@parley/kernel/errors';
import test from 'ava';
import { failureOf } from './turn-failure.ts';

test('an unavailable agent fails a turn by whether text was streamed; other errors by their reason', (t) => {
  t.is(failureOf(unavailable('gone'), false).code, 'MODEL_UNAVAILABLE');
  t.is(failureOf(unavailable('gone'), true).code, 'MODEL_FAILED');
  const because = (reason: string) => failureOf(new DomainError('internal', 'x', { reason }), true).code;
  t.is(because('MODEL_FAILED'), 'MODEL_FAILED');
  t.is(because('TURN_TIMEOUT'), 'TURN_TIMEOUT');
  t.is(because('SPEND_CAP_REACHED'), 'SPEND_CAP_REACHED');
  t.is(because('SOMETHING_ELSE'), 'INTERNAL');
  t.is(failureOf(new Error('a bug with a secret'), false).code, 'INTERNAL');
  t.false(failureOf(new Error('a bug with a secret'), false).message.includes('secret'));
});

test('a turn whose tenant is deleted fails as its session ends', (t) => {
  const error = new DomainError('internal', 'Something', { reason: 'TENANT_DELETED' });
  t.is(failureOf(error, false).code, 'SESSION_ENDED');
  t.is(failureOf(error, true).code, 'SESSION_ENDED');
});
