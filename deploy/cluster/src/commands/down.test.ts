import test from 'ava';
import { outcome } from './down.ts';

test('down succeeds if this machine is as it was before', (t) => {
  t.is(outcome(undefined).code, 0);
  t.is(outcome({ failures: [] }).code, 0);
  t.deepEqual(outcome({ failures: [], differences: [] }), {
    message: 'the cluster is stopped, and this machine is as it was before',
    code: 0,
  });
});

test('down fails if this machine is not as it was before, or if a step failed', (t) => {
  const { message, code } = outcome({ failures: ['x.json is not JSON'], differences: ['+ links: x'] });
  t.is(code, 1);
  t.true(message.includes('x.json is not JSON') && message.includes('+ links: x'));
  t.is(outcome({ failures: [], differences: ['+ links: x'] }).code, 1);
  t.is(outcome({ failures: ['x.json is not JSON'] }).code, 1);
});
