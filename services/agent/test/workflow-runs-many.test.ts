import test from 'ava';
import { workflowEngine } from '../src/workflow/engine.ts';
import { say, turnOf, workflow } from '../src/workflow/testing/workflows.ts';
import { newProgress } from '../src/workflow-runs/workflow-run.ts';
import { workflowRunStore } from '../src/workflow-runs/workflow-run-store.ts';
import { agentUnit } from './agent-unit.ts';

test('a run begins and ends as fast after many runs of its session as after few', async (t) => {
  const unit = await agentUnit(t);
  const engine = workflowEngine();
  const definition = workflow({ end: say('Done.') });
  const begun = engine.begin(definition, turnOf('hello'));
  const [running, ended] = [newProgress(begun), newProgress(engine.step(definition, begun))];
  const inStore = <T>(work: (runs: ReturnType<typeof workflowRunStore>) => Promise<T>) =>
    unit.database.transact(1, (db) => work(workflowRunStore(db)));
  const durations: number[] = [];
  for (let n = 0; n < 400; n += 1) {
    const from = performance.now();
    const [turnKey, attempt] = [`turn ${n}`, 'attempt'];
    await inStore((runs) =>
      runs.begin({ sessionId: 1, workflowId: 1, version: 1, draft: null }, turnKey, attempt, running),
    );
    await inStore(async (runs) => {
      await runs.keep(turnKey, attempt, ended);
      await runs.settle(turnKey, attempt, 1_000_000_000);
    });
    durations.push(performance.now() - from);
  }
  // Compares only the shortest durations, because other processes slow down some iterations. Query plans are cached in the first
  // iterations.
  const [few, many] = [Math.min(...durations.slice(0, 50)), Math.min(...durations.slice(-50))];
  t.true(many < few * 6, `${many} ms after ${few} ms`);
});
