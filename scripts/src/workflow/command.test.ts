import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { root } from '../root.ts';
import { startChild } from '../testing/child.ts';

// allow-name workflow: the command, which is unrelated to the operation of that name.
const bot = join(root, 'services/agent/examples/support-bot.json');

test('a definition is drawn, with a run over it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-workflow-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const run = join(folder, 'run.json');
  writeFileSync(run, JSON.stringify({ trace: [{ nodeId: 'classify' }, { nodeId: 'answer', error: 'Away' }] }));
  const child = startChild(t, 'workflow', { args: ['draw', bot, '--run', run] });
  t.is(await child.ended, 0);
  t.regex(child.stdout, /^flowchart TD\n[^]*n0 -->\|"1: question"\| n1\n[^]*class n0,n1 taken\n {2}class n1 failed\n/u);
});

test('problems of a definition are printed, one per line', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-workflow-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'bad.json');
  writeFileSync(file, JSON.stringify({ version: 1, start: 'b', nodes: { a: { kind: 'response', text: '{{' } } }));
  const child = startChild(t, 'workflow', { args: ['check', file] });
  t.is(await child.ended, 1);
  t.is(
    child.stderr,
    'start names the node b, which is not there\nnodes.a.text has a tag or output that is not closed: line 1, column 1\n',
  );
});
