import test from 'ava';
import { apiServerArgs, controllerManagerArgs, etcdArgs, schedulerArgs } from './control-plane.ts';

const files = { certificates: '/c', kubeconfigs: '/k', tokens: '/t.csv' };

test('etcd listens on loopback alone', (t) => {
  const urls = etcdArgs({ client: 15_001, peer: 15_002 }).flatMap((each) => each.match(/https?:[^,]*/gu) ?? []);
  t.deepEqual([...new Set(urls)], ['http://127.0.0.1:15001', 'http://127.0.0.1:15002']);
});

test('the API server serves pods at the bridge, and authorizes nodes and roles', (t) => {
  const args = apiServerArgs(files, 15_001);
  for (const each of [
    'bind-address=10.88.0.1',
    'authorization-mode=Node,RBAC',
    'etcd-servers=http://127.0.0.1:15001',
  ]) {
    t.true(args.includes(`--${each}`), each);
  }
});

test('controllers sign tokens with the key that the API server accepts', (t) => {
  const key = '/c/service-accounts.key';
  t.true(controllerManagerArgs(files).includes(`--service-account-private-key-file=${key}`));
  t.true(apiServerArgs(files, 1).includes(`--service-account-key-file=${key}`));
});

test('controllers and scheduler authorize by the API server', (t) => {
  for (const args of [controllerManagerArgs(files), schedulerArgs(files)]) {
    t.true(args.some((each) => each.startsWith('--authorization-kubeconfig=/k/')));
  }
});
