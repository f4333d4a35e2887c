import { identitySchema } from '@parley/identity/schema';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { converse, createAgent, endSession, evaluated, sendMessage, startSession } from '../src/conversation.ts';
import { callerWithKey, pricedProvider, usageOf } from '../src/direct-calls.ts';
import type { GraphError } from '../src/graph-error.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

/** Returns usage of gpt-4o that costs this many USD. */
const worth = (usd: number) => ({ prompt_tokens: 1, completion_tokens: Math.round(usd / 1e-5) });

/** Returns the reserved spend of a tenant, in USD. */
async function reservedOf(mesh: TestMesh, tenantId: number): Promise<number> {
  const rows = await mesh
    .database(identitySchema)
    .transact(tenantId, ({ knex }) => knex('usage_months').select('reserved_usd').where({ tenantId }));
  return rows.reduce((sum: number, { reservedUsd }: { reservedUsd: string }) => sum + Number(reservedUsd), 0);
}

story(
  'of a hundred concurrent calls just below the spend cap, one is made, and the others are refused with the amounts',
  async (t, mesh) => {
    const ada = await mesh.person();
    const { id: tenantId } = await ada.value<{ id: number }>('{ myTenant { id } }');
    const { generate } = await callerWithKey(ada);
    mesh.model.answer('Nearly all of it.', { usage: worth(9.99) });
    t.is((await generate('Nearly all of it.')).errors, undefined);
    const gate = createGate();
    mesh.model.answer('All at once.', { text: 'Made.', usage: worth(0.02), beforeHeaders: gate });
    const refusals: GraphError[] = [];
    const calls = Array.from({ length: 100 }, async () => {
      const { errors } = await generate('All at once.');
      if (errors?.[0]) refusals.push(errors[0]);
    });
    await eventually('all but one are refused', () => refusals.length === 99, { timeoutMs: 60_000 });
    gate.open();
    await Promise.all(calls);
    for (const refusal of refusals) {
      t.like(refusal, { extensions: { code: 'BAD_REQUEST', reason: 'SPEND_CAP_REACHED' } });
      const { message } = refusal;
      t.regex(
        message,
        /^Monthly LLM spend cap reached: \$10\.00 \(spent \$9\.99, \$\d+\.\d\d held by calls in flight\)$/u,
      );
    }
    t.is(refusals.length, 99);
    t.is(new Set(refusals.map(({ message }) => message)).size, 1, 'all name what the one call may take');
    t.is(mesh.model.requestsFor('All at once.').length, 1);
    t.is(await reservedOf(mesh, tenantId), 0);
    const usage = await usageOf(ada);
    t.is(usage.monthlySpendCapUsd, 10);
    t.true(usage.costThisMonthUsd > 10.009 && usage.costThisMonthUsd < 10.011);
    // allow-name generateText: the operation's name in the ledger
    t.deepEqual(usage.breakdown, [{ model: 'gpt-4o', operation: 'generateText', count: 2 }]);
  },
);

story(
  'at the spend cap, turns fail, evaluations are made offline, direct calls are refused, and sessions can start',
  async (t, mesh) => {
    const ada = await mesh.person();
    const { generate, start } = await callerWithKey(ada);
    const talk = await converse(t, ada, { llmProviderOverride: pricedProvider });
    mesh.model.answer('A dear answer.', { text: 'Dear.', usage: worth(10) });
    await sendMessage(ada, talk.sessionId, 'A dear answer.');
    const [dear] = await talk.events.turns(1);
    t.like(dear, { __typename: 'AiResponseEvent', text: 'Dear.' });
    const { costThisMonthUsd, breakdown } = await usageOf(ada);
    t.is(
      costThisMonthUsd,
      dear?.__typename === 'AiResponseEvent' ? dear.message.costUsd : 0,
      'message and ledger agree',
    );
    t.deepEqual(breakdown, [{ model: 'gpt-4o', operation: 'session', count: 1 }]);

    const refusal = { extensions: { code: 'BAD_REQUEST', reason: 'SPEND_CAP_REACHED' } };
    t.like((await generate('Anything.')).errors?.[0], refusal);
    await t.throwsAsync(start('Anything.'), { message: /SPEND_CAP_REACHED/u });
    const probe = `mutation { testLlmProvider(input: { provider: ${pricedProvider} }) { ok } }`;
    t.like(await ada.refusal(probe), refusal);

    await sendMessage(ada, talk.sessionId, 'One too many.', 'mine');
    const [, failed] = await talk.events.turns(2);
    t.like(failed, { __typename: 'TurnFailedEvent', code: 'SPEND_CAP_REACHED', clientTurnId: 'mine' });
    t.is(mesh.model.requestsFor('One too many.').length, 0);
    await endSession(ada, talk.sessionId);
    const { summary } = await evaluated(ada, talk.sessionId);
    t.regex(summary, /offline/iu);
    t.is((await startSession(ada, await createAgent(ada))).status, 'ACTIVE');
    t.is((await usageOf(ada)).costThisMonthUsd, costThisMonthUsd);

    await ada.query('mutation { updateTenant(input: { plan: PRO }) { id } }');
    t.is((await generate('Anything.')).errors, undefined, 'a higher cap holds at once');
  },
);

story('a generation is streamed only to its own tenant, and is counted even without a listener', async (t, mesh) => {
  const ada = await mesh.person();
  const { start, listen } = await callerWithKey(ada);
  const beforeDelta = createGate();
  // Chunks that are sent before the listener subscribes are lost.
  const text = Array.from({ length: 500 }, (_, n) => `${n} `);
  mesh.model.answer('Slowly.', { text, beforeDelta, usage: worth(0.01) });
  const requestId = await start('Slowly.');
  const heard = listen(requestId);
  t.teardown(() => heard.close());
  await eventually('it is asked', () => mesh.model.requestsFor('Slowly.').length === 1);
  await eventually('the first piece is heard', () => {
    beforeDelta.release(heard.events.length === 0 ? 1 : 0);
    return heard.events.length > 0;
  });
  beforeDelta.open();
  t.is(await heard.end, 'completed');
  t.deepEqual(heard.events.at(-1), {
    requestId,
    text: '',
    done: true,
    providerId: pricedProvider,
    modelId: 'gpt-4o',
    error: null,
  });

  const stranger = await callerWithKey(await mesh.person());
  const refused = stranger.listen(requestId);
  t.teardown(() => refused.close());
  t.is(await refused.end, 'FORBIDDEN');
  await start('Slowly.');
  await eventually('both are counted', async () => (await usageOf(ada)).breakdown[0]?.count === 2);
});
