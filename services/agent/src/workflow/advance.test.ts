import type { TenantCaller } from '@parley/kernel/caller';
import test from 'ava';
import { advance } from './advance.ts';
import { evaluationBudget, workflowEngine } from './engine.ts';
import { say, turnOf, workflow } from './testing/workflows.ts';

const nodes = Object.fromEntries(
  Array.from({ length: 10 }, (_, index) => [
    `n${index}`,
    { kind: 'condition' as const, cases: [{ when: 'true', next: `n${index + 1}` }], otherwise: 'n10' },
  ]),
);
const definition = workflow({ ...nodes, n10: say('ok') });
const { begin, step } = workflowEngine();

test('other work goes on between nodes, of which at most two of a tenant are run before it', async (t) => {
  let isOver = false;
  let ran: number[] = [];
  const rounds: number[][] = [];
  const round = () => {
    rounds.push(ran);
    ran = [];
    if (!isOver) setImmediate(round);
  };
  setImmediate(round);
  const turn = (tenantId: number) => {
    const engine: { step: typeof step } = {
      step(...args) {
        ran.push(tenantId);
        return step(...args);
      },
    };
    const request = { caller: { tenantId } as TenantCaller, signal: new AbortController().signal };
    return advance(request, { engine, definition, budget: evaluationBudget() }, begin(definition, turnOf('Hi')));
  };
  const turns = [1, 1, 1, 1, 1, 1, 2].map(turn);
  t.is((await turns[6])?.reply?.text, 'ok');
  const roundsOfOther = rounds.length;
  await Promise.all(turns);
  isOver = true;
  for (const each of rounds) t.true(each.filter((tenantId) => tenantId === 1).length <= 2, `${each}`);
  t.true(roundsOfOther < 20, `${roundsOfOther}`);
  t.is(rounds.flat().filter((tenantId) => tenantId === 1).length + ran.length, 66);
});

test('a turn whose client has disconnected does not wait for its share', async (t) => {
  const leaving = new AbortController();
  const request = { caller: { tenantId: 3 } as TenantCaller, signal: leaving.signal };
  const run = () =>
    advance(request, { engine: { step }, definition, budget: evaluationBudget() }, begin(definition, turnOf('Hi')));
  const turns = [run(), run(), run()];
  leaving.abort(new Error('left'));
  const outcomes = await Promise.allSettled(turns);
  t.true(outcomes.some(({ status }) => status === 'rejected'));
});
