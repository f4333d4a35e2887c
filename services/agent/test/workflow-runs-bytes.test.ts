import test from 'ava';
import type { WorkflowNode } from '../src/workflow/definition.ts';
import { say, workflow } from '../src/workflow/testing/workflows.ts';
import { sweepWorkflowRuns } from '../src/workflow-runs/sweep-workflow-runs.ts';
import { type AgentUnit, agentUnit } from './agent-unit.ts';
import { agentWith, ask, runsOf, textOf } from './workflow-run-unit.ts';

const call: WorkflowNode = { kind: 'action', actionId: 5, args: {}, output: 'found', next: 'first' };
const twoTurns = workflow({
  a: call,
  first: say('And then?', { next: 'second' }),
  second: say('{{ nodes.a.output.text | size }} {{ variables.found.text | size }}'),
});

interface Row {
  status: string;
  bytes: number;
  hasState: boolean;
  progress: object;
  draft: object | null;
}

const rowsOf = (unit: AgentUnit, sessionId = 1): Promise<Row[]> =>
  unit.database.transact(1, async ({ knex }) => knex('workflow_runs').where({ sessionId }).orderBy('id'));

/** Reads the counted bytes of all workflow runs, and the sum of the bytes of their rows. */
async function countedBytes(unit: AgentUnit): Promise<{ counted: number; held: number }> {
  return unit.database.transact(1, async ({ knex }) => {
    const [counted] = await knex('workflow_run_bytes');
    const rows: { bytes: number }[] = await knex('workflow_runs').select('bytes');
    return { counted: Number(counted?.bytes ?? 0), held: rows.reduce((sum, { bytes }) => sum + bytes, 0) };
  });
}

function answerWith(unit: AgentUnit, characters: number): void {
  const text = 'x'.repeat(characters);
  unit.action.answer = () => ({ body: { $case: 'json', value: JSON.stringify({ text }) } });
}

test('an output is kept once, and read from both of its places in the next turn', async (t) => {
  const unit = await agentUnit(t);
  answerWith(unit, 50_000);
  const { agentId } = await agentWith(unit, twoTurns);
  await ask(unit, agentId, 'hello');
  const [row] = await rowsOf(unit);
  t.true(JSON.stringify(row?.progress).length < 60_000);
  t.is(textOf(await ask(unit, agentId, 'next')), '50000 50000');
});

test('only the last run of a session has a state; the earlier ones are their traces, and what runs hold is counted', async (t) => {
  const unit = await agentUnit(t);
  answerWith(unit, 50_000);
  const { agentId } = await agentWith(unit, twoTurns);
  for (const testDraft of [false, true]) {
    await ask(unit, agentId, 'one', { testDraft });
    await ask(unit, agentId, 'two', { testDraft });
    unit.action.answer = () => ({ errorKind: 'HTTP_STATUS' });
    t.not((await ask(unit, agentId, 'three', { testDraft })).error, undefined);
    t.not((await ask(unit, agentId, 'four', { testDraft })).error, undefined);
    answerWith(unit, 50_000);
  }
  const rows = await rowsOf(unit);
  t.deepEqual(
    rows.map(({ status, hasState }) => [status, hasState]),
    [
      ['WAITING', false],
      ['ENDED', true],
      ['FAILED', false],
      ['FAILED', false],
      ['WAITING', false],
      ['ENDED', true],
      ['FAILED', false],
      ['FAILED', true],
    ],
  );
  for (const { hasState, status, bytes, progress, draft } of rows) {
    if (!hasState) t.deepEqual([progress, draft ?? {}], [{}, {}]);
    if (status !== 'ENDED') t.true(bytes < 10_000, `${status} ${bytes}`);
  }
  t.deepEqual(
    (await runsOf(unit)).map(({ trace }) => trace.length),
    [1, 1, 1, 2, 1, 1, 1, 2],
  );
  const { counted, held } = await countedBytes(unit);
  t.is(counted, held);
  t.true(held > 50_000);
});

test("above the tenant's byte limit the oldest runs are deleted, and the current session continues", async (t) => {
  const unit = await agentUnit(t, { AGENT_WORKFLOW_RUN_BYTES: '200000' });
  answerWith(unit, 50_000);
  const { agentId } = await agentWith(unit, twoTurns);
  for (let sessionId = 1; sessionId <= 6; sessionId += 1) await ask(unit, agentId, 'hello', { sessionId });
  const { counted, held } = await countedBytes(unit);
  t.is(counted, held);
  t.true(held <= 200_000, `${held}`);
  const remaining = await Promise.all([1, 2, 3, 4, 5, 6].map(async (id) => (await rowsOf(unit, id)).length));
  t.deepEqual(remaining, [0, 0, 0, 1, 1, 1]);
  t.is(textOf(await ask(unit, agentId, 'next', { sessionId: 6 })), '50000 50000');
  t.is(textOf(await ask(unit, agentId, 'next', { sessionId: 1 })), 'And then?', 'begins anew');
});

test('what the sweep deletes is no longer counted', async (t) => {
  const unit = await agentUnit(t);
  answerWith(unit, 50_000);
  const { agentId } = await agentWith(unit, twoTurns);
  await ask(unit, agentId, 'hello');
  await ask(unit, agentId, 'hello', { sessionId: 2 });
  await unit.database.transact(1, async ({ knex }) => {
    const old = knex.raw("created_at - interval '40 days'");
    await knex('workflow_runs').where({ sessionId: 1 }).update({ createdAt: old, updatedAt: old });
    await knex.raw('UPDATE workflow_run_days SET day = day - 40');
  });
  await sweepWorkflowRuns({ database: unit.database, workflowRuns: { days: 30 } });
  t.deepEqual(await rowsOf(unit), []);
  const { counted, held } = await countedBytes(unit);
  t.is(counted, held);
  t.true(held > 50_000);
});
