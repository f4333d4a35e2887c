import test from 'ava';
import { createAddresses, NotListeningYetError } from './addresses.ts';

test('an unknown address fails with the reason', (t) => {
  const { of, announce } = createAddresses({ FAR_GRAPH_URL: 'http://far' }, ['near']);
  announce('near', 'graph', 'http://near');

  t.is(of('near', 'graph'), 'http://near');
  t.is(of('far', 'graph'), 'http://far');
  t.throws(() => of('near', 'rpc'), {
    instanceOf: NotListeningYetError,
    message: 'near has not started yet, or serves no rpc; units start in the order of their list',
  });
  t.throws(() => of('far', 'rpc'), { message: 'FAR_RPC_URL: is missing' });
});
