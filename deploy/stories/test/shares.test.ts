import { eventually } from '@parley/testing/eventually';
import { createGate, type Gate } from '@parley/testing/gate';
import test from 'ava';
import { converse, createAgent, endSession, evaluated, sendMessage, startSession } from '../src/conversation.ts';
import { messageOf, judgement as usualJudgement } from '../src/scripted-model.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

/** Runs `work` this many times, ten at once. */
async function tenAtOnce(count: number, work: (n: number) => Promise<void>): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n).values();
  const worker = async () => {
    for (const n of numbers) await work(n);
  };
  await Promise.all(Array.from({ length: 10 }, worker));
}

story('a tenant gets turns even if sixty tenants have a turn waiting behind a running one', async (t, mesh) => {
  const { model, person } = mesh;
  const gate = createGate();
  t.teardown(() => gate.open());
  model.answerOthers('In the crowd', () => ({ beforeHeaders: gate }));
  const turns: Gate[] = [];
  t.teardown(() => turns.forEach((turn) => turn.open()));
  model.answerOthers('A stranger', () => {
    const beforeHeaders = createGate();
    turns.push(beforeHeaders);
    return { beforeHeaders };
  });
  const asked = (beginning: string) =>
    new Set(model.server.requests.map(({ body }) => messageOf(body)).filter((text) => text.startsWith(beginning))).size;

  await tenAtOnce(60, async (n) => {
    const client = await person();
    const { id } = await startSession(client, await createAgent(client));
    await sendMessage(client, id, `In the crowd: ${n}`);
    await sendMessage(client, id, `Behind the crowd: ${n}`);
  });
  await eventually('the crowd runs', () => asked('In the crowd') === 60);

  const stranger = await person();
  const agentId = await createAgent(stranger);
  const sessionIds: number[] = [];
  await tenAtOnce(60, async () => void sessionIds.push((await startSession(stranger, agentId)).id));
  await Promise.all(sessionIds.map((id, n) => sendMessage(stranger, id, `A stranger: ${n}`)));
  await eventually('as many run as one tenant may have', () => asked('A stranger') === 50);
  const fromMs = performance.now();
  turns.slice(0, 20).forEach((turn) => turn.open());
  await eventually('those that waited run', () => asked('A stranger') === 60);
  t.log(`the 10 turns of a stranger that waited ran after ${(performance.now() - fromMs).toFixed(0)} ms`);
  t.is(asked('Behind the crowd'), 0, 'the crowd is still there');
});

story('many ended sessions of one tenant do not delay the evaluations of others', async (t, { model, person }) => {
  const gate = createGate();
  t.teardown(() => gate.open());
  model.judge('Judge me slowly', { json: usualJudgement, beforeHeaders: gate });
  const judging = () =>
    model.server.requests.filter(
      ({ body }) => body.response_format && JSON.stringify(body).includes('Judge me slowly'),
    );

  const busy = await person();
  const agentId = await createAgent(busy);
  await tenAtOnce(20, async (n) => {
    const { id } = await startSession(busy, agentId);
    const events = busy.subscribe(id, { after: '0' });
    await sendMessage(busy, id, `Judge me slowly, number ${n}`);
    await events.turns(1);
    await events.close();
    await endSession(busy, id);
  });
  await eventually('the judge is at some of them', () => judging().length >= 4);

  const other = await person();
  const { sessionId, events } = await converse(t, other);
  await sendMessage(other, sessionId, 'Judge me soon.');
  await events.turns(1);
  const fromMs = performance.now();
  await endSession(other, sessionId);
  t.is((await evaluated(other, sessionId)).score, usualJudgement.score);
  t.log(`the judgement of another came after ${(performance.now() - fromMs).toFixed(0)} ms`);
  t.is(judging().length, 4, 'the first ones are still under way');
});
