import type { EngineName } from '@parley/servers/engine';
import type { RunningServers } from '@parley/servers/start-servers';
import test from 'ava';
import { root } from '../root.ts';
import { storyFolder } from './mesh-stories.ts';
import { storiesOnMesh } from './stories-on-mesh.ts';

const story = 'test/accounts.test.ts';

/** The step on a machine that cannot have these engines, and whether their servers were stopped. */
function machineWithout(missing: EngineName[], { ci = false, files = [story, 'test/storage.test.ts'] } = {}) {
  const stopped: boolean[] = [];
  const step = storiesOnMesh({
    root,
    workspace: { name: 'local', folder: storyFolder, files },
    ci,
    installed: Promise.resolve(),
    signal: new AbortController().signal,
    start: async (): Promise<RunningServers> => ({
      env: {},
      superuserUrl: undefined,
      missing: missing.map((engine) => ({ engine, reason: `there is nothing to run ${engine} with` })),
      server: () => {
        throw new Error('nobody asks');
      },
      stop: async () => void stopped.push(true),
    }),
  });
  return { step, stopped };
}

test('where the machine cannot have a server that the mesh stands on, the stories are left out, with the reason', async (t) => {
  const { step, stopped } = machineWithout(['kafka']);
  const outcome = await step?.run();
  t.like(outcome, { passed: 0, failed: 0, skipped: 1 });
  t.regex(outcome?.output ?? '', /^left out: .*\nKafka: there is nothing to run kafka with$/u);
  t.deepEqual(stopped, [true], 'the servers that could be had go on');
});

test('under CI that is a failure', async (t) => {
  const outcome = await machineWithout(['redis', 'postgres'], { ci: true }).step?.run();
  t.like(outcome, { passed: 0, failed: 1 });
  t.regex(outcome?.output ?? '', /Redis: .*\nPostgreSQL: /u);
});

test('where no wanted file is told on the mesh there is no such step', (t) => {
  t.is(machineWithout([], { files: ['test/storage.test.ts'] }).step, undefined);
});

test('servers that do not start are a failure', async (t) => {
  const step = storiesOnMesh({
    root,
    workspace: { name: 'local', folder: storyFolder, files: [story] },
    ci: false,
    installed: Promise.resolve(),
    signal: new AbortController().signal,
    start: () => Promise.reject(new Error('the disk is full')),
  });
  t.like(await step?.run(), { failed: 1, output: 'the disk is full' });
});
