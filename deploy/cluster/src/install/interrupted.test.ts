import test from 'ava';
import { nodesOf } from '../addresses.ts';
import { undoInterrupted } from './interrupted.ts';

test('an install deletes the records of pending changes of its release alone, and uncordons all nodes', async (t) => {
  const calls: string[][] = [];
  const run = async (args: string[]) => {
    calls.push(args);
    return '';
  };
  await undoInterrupted({ run }, 'parley', nodesOf(2));
  const pending = 'owner=helm,name=parley,status in (pending-install,pending-upgrade,pending-rollback)';
  t.deepEqual(calls, [
    ['delete', 'secrets', '--selector', pending],
    ['uncordon', ...nodesOf(2).map(({ name }) => name)],
  ]);
});
