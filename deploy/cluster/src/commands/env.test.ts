import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder, unabortedSignal } from '@parley/servers/testing/folder';
import test from 'ava';
import { run } from './env.ts';

test('env fails after a start that did not complete', async (t) => {
  const state = emptyFolder(t);
  writeFileSync(join(state, 'admin.kubeconfig'), '{}');
  const said: string[] = [];
  const options = { folders: { tools: '/tools', state }, args: [], signal: unabortedSignal };
  const code = await run({ ...options, say: (line) => void said.push(line), print: (text) => t.fail(text) });
  t.is(code, 1);
  t.deepEqual(said, ['there is no cluster: scripts/cluster up']);
});
