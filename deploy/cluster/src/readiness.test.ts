import test from 'ava';
import { nodesIn, podsIn } from './readiness.ts';

const condition = (status: string, message?: string) => ({ type: 'Ready', status, ...(message && { message }) });

test('a node is ready when its kubelet says so', (t) => {
  const items = [
    { metadata: { name: 'node-1' }, status: { conditions: [condition('True')] } },
    { metadata: { name: 'node-2' }, status: { conditions: [condition('False', 'network plugin is not ready')] } },
    { metadata: { name: 'node-3' } },
  ];
  t.deepEqual(nodesIn({ items }), [
    { name: 'node-1', ready: true },
    { name: 'node-2', ready: false, reason: 'network plugin is not ready' },
    { name: 'node-3', ready: false, reason: 'its kubelet has not reported yet' },
  ]);
});

test('a pod that is not ready says why, and one that has completed counts as ready', (t) => {
  const metadata = (name: string) => ({ name, namespace: 'a' });
  const waiting = [{ state: { waiting: { reason: 'ErrImageNeverPull' } } }];
  const items = [
    { metadata: metadata('runs'), status: { phase: 'Running', conditions: [condition('True')] } },
    { metadata: metadata('done'), status: { phase: 'Succeeded', conditions: [condition('False')] } },
    { metadata: metadata('waits'), status: { phase: 'Pending', containerStatuses: waiting } },
    { metadata: metadata('alone'), status: { phase: 'Pending', conditions: [condition('False', 'no node fits')] } },
    { metadata: metadata('new'), status: { phase: 'Pending' } },
  ];
  t.deepEqual(podsIn({ items }), [
    { name: 'a/runs', ready: true },
    { name: 'a/done', ready: true },
    { name: 'a/waits', ready: false, reason: 'ErrImageNeverPull' },
    { name: 'a/alone', ready: false, reason: 'no node fits' },
    { name: 'a/new', ready: false, reason: 'Pending' },
  ]);
});
