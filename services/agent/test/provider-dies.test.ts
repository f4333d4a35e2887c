import { createGate } from '@parley/testing/gate';
import { startModelServer } from '@parley/testing/model-server';
import test from 'ava';
import { type Reply, runTurn } from './agent-turns.ts';
import { agentUnit, createAgent, inTenant } from './agent-unit.ts';

const each = 50;

test('a provider that dies among fifty turns and fifty direct calls: all end, each is served once, and nothing is left open', async (t) => {
  const [dying, other] = [await startModelServer(), await startModelServer()];
  t.teardown(() => other.stop());
  const unit = await agentUnit(t, {
    CLOUD_HOSTED_MODELS_API: 'openai',
    CLOUD_HOSTED_MODELS_URL: dying.url,
    CLOUD_HOSTED_MODELS_KEY: 'k',
    CLOUD_HOSTED_MODELS_MODEL: 'gpt-4o',
    DIRECT_MODEL_API_URL: other.url,
    DIRECT_MODEL_API_KEY: 'k',
    DIRECT_MODEL_API_MODEL: 'gpt-4o-mini',
    LLM_FALLBACKS: 'DIRECT_MODEL_API',
  });
  // When the provider dies, half of its answers have begun to arrive.
  const never = createGate();
  const firstPiece = () => {
    const gate = createGate();
    gate.release();
    return gate;
  };
  dying.answerWith((_, index) =>
    index % 2 === 0 ? { text: ['One ', 'two.'], beforeDelta: firstPiece() } : { beforeHeaders: never },
  );
  other.answerWith({ text: 'From elsewhere.' });
  const { id } = await createAgent(unit, inTenant(1));
  const document = 'query ($input: GenerateTextInput!) { generateText(input: $input) { text modelId } }';
  const caller = { kind: 'apiKey', tenantId: 2, apiKeyId: 1, requestId: 'r' } as const;
  const heard = Promise.withResolvers<void>();
  let pieces = 0;
  const onText = () => {
    pieces += 1;
    if (pieces === Math.floor(each / 4)) heard.resolve();
  };
  const turns = Array.from({ length: each }, (_, n) => runTurn(unit, id, { callId: `turn ${n}`, onText }));
  const direct = Array.from({ length: each }, (_, n) =>
    unit.graph(caller, document, { input: { prompt: `Call ${n}` } }),
  );
  await dying.until(({ counts }) => counts.started === 2 * each);
  await heard.promise;
  await dying.stop();

  const replies = await Promise.all(turns);
  const answers = await Promise.all(direct);
  const wholeTurns = replies.filter(({ finished }) => finished);
  const failedTurns = replies.filter(({ error }) => error);
  t.is(wholeTurns.length + failedTurns.length, each);
  for (const { texts, finished } of wholeTurns)
    t.deepEqual([texts.join(''), finished?.modelId], ['From elsewhere.', 'gpt-4o-mini']);
  for (const { texts, error } of failedTurns as Required<Reply>[]) {
    t.is(texts.join(''), 'One ', 'what had begun is not begun anew elsewhere');
    t.like(error, { kind: 'internal', reason: 'MODEL_FAILED' });
  }
  const wholeCalls = answers.filter(({ data }) => data?.['generateText']);
  for (const { data } of wholeCalls)
    t.like(data?.['generateText'], { text: 'From elsewhere.', modelId: 'gpt-4o-mini' });
  for (const { errors } of answers.filter(({ data }) => !data?.['generateText'])) {
    t.like(errors?.[0]?.extensions, { code: 'UNAVAILABLE', reason: 'MODEL_FAILED' });
  }
  const whole = wholeTurns.length + wholeCalls.length;
  t.is(whole, each, 'every second of all');
  t.is(other.counts.finished, whole);

  const { settled, open } = unit.ledger;
  t.is(open.size, 0);
  t.is(new Set(settled.map(({ call }) => call?.callId)).size, settled.length, 'each is settled once');
  t.is(settled.length, 2 * each);
  t.is(settled.filter(({ call }) => call?.modelId === 'gpt-4o-mini').length, whole);
  t.true(settled.every(({ estimated, call }) => estimated === (call?.modelId === 'gpt-4o')));
});
