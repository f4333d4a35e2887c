import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { emptyFolder } from '@parley/servers/testing/folder';
import test, { type ExecutionContext } from 'ava';
import { nodesOf } from '../addresses.ts';
import { writeNodes } from '../nodes.ts';

/** Runs `install` in a process whose PATH has only basic programs and whose folder of installed programs is empty. */
async function installOnBareMachine(t: ExecutionContext, { nodes }: { nodes: number }): Promise<string> {
  const [PATH, tools, home] = [emptyFolder(t), emptyFolder(t), emptyFolder(t)];
  const state = join(home, 'cluster/run');
  mkdirSync(state, { recursive: true });
  if (nodes > 0) writeNodes({ state }, nodesOf(nodes));
  for (const program of [
    'sh',
    'flock',
    'setpriv',
    'dirname',
    'id',
    'rm',
    'mkdir',
    'sed',
    'uname',
    'ln',
    'cat',
    'chmod',
  ]) {
    const path = execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
    symlinkSync(path, join(PATH, program));
  }
  const script = `
    const { run } = await import(${JSON.stringify(join(import.meta.dirname, 'install.ts'))});
    const { signal } = new AbortController();
    const folders = ${JSON.stringify({ tools, state })};
    await run({ folders, args: [], signal, say() {}, print() {} }).catch(({ message }) => console.log(message));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { PATH, HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return text(child.stdout);
}

test('an install names every program that this machine cannot install before it builds an image', async (t) => {
  const lines = (await installOnBareMachine(t, { nodes: 1 })).trim().split('\n');
  t.is(lines[0], 'This machine lacks:');
  const named = lines.slice(1).map((line) => line.trim().split(':')[0] ?? '');
  t.deepEqual(named.toSorted(), ['Kafka', 'PostgreSQL', 'Redis', 'S3 (versitygw)', 'builder', 'helm']);
});

test('an install without a cluster ends before it installs anything', async (t) => {
  t.is(await installOnBareMachine(t, { nodes: 0 }), 'no cluster runs: scripts/cluster up\n');
});
