import { Role, type TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { estimateTokens } from '@parley/text/token-estimate';
import test from 'ava';
import { countTokens, loadTokenizer } from '../src/models/token-counter.ts';
import { runTurn, unitWithModel } from './agent-turns.ts';
import { createAgent, inTenant } from './agent-unit.ts';

const owner = inTenant(1);
const service = { kind: 'service', service: 'evaluation', tenantId: 1, requestId: 'r' } as const;
/** A priced model, so that calls cost something. */
const priced = { HOSTED_SMALL_MODEL_MODEL: 'gpt-4o' };
/** A priced model without a tokenizer. */
const pricedUncounted = { HOSTED_SMALL_MODEL_MODEL: 'gemini-2.5-flash' };
const usage = { prompt_tokens: 2_000, completion_tokens: 300 };

test('a turn is reserved before the model is asked, and its cost is in its end and in the ledger', async (t) => {
  const unit = await unitWithModel(t, { text: 'Hello there.', usage }, priced);
  const { id } = await createAgent(unit, owner);
  const { finished } = await runTurn(unit, id);
  t.is(finished?.costUsdE8, 800_000n); // 2,000 tokens in × 2.5e-6 USD + 300 tokens out × 1e-5 USD
  const [reservation] = unit.ledger.reserved;
  t.true(reservation?.begins);
  t.like(reservation?.call, { operation: 'session', agentId: id, sessionId: 1, modelId: 'gpt-4o', tokensOut: 4_096 });
  t.is(unit.ledger.settled.length, 1);
  t.like(unit.ledger.settled[0], { estimated: false, served: true });
  t.like(unit.ledger.settled[0]?.call, { callId: reservation?.call?.callId, tokensIn: 2_000, costUsdE8: 800_000n });
  t.is(unit.ledger.open.size, 0);
});

test('at the cap a turn and a judgement ask no model', async (t) => {
  const unit = await unitWithModel(t, {}, priced);
  const { id } = await createAgent(unit, owner);
  unit.ledger.cap = 0n;
  const { error } = await runTurn(unit, id);
  t.like(error, { kind: 'invalid', reason: 'SPEND_CAP_REACHED' });
  const call = {
    agentId: id,
    sessionId: 1,
    operation: 'evaluation',
    callId: 'e',
    system: '',
    prompt: 'Judge.',
    jsonSchemaJson: '',
  };
  t.like(await t.throwsAsync(unit.rpc.generate(call, { caller: service, expectedErrors: ['invalid'] })), {
    kind: 'invalid',
    reason: 'SPEND_CAP_REACHED',
  });
  t.is(unit.server.connections, 0);
});

test('a judgement is metered under its own operation and call', async (t) => {
  const unit = await unitWithModel(t, { json: { score: 1 }, usage }, priced);
  const { id } = await createAgent(unit, owner);
  const call = { agentId: id, sessionId: 7, operation: 'evaluation', callId: 'e-7', system: '', prompt: 'Judge.' };
  const schema = JSON.stringify({ type: 'object', properties: {}, required: [], additionalProperties: false });
  const answer = await unit.rpc.generate({ ...call, jsonSchemaJson: schema }, { caller: service });
  t.is(answer.costUsdE8, 800_000n);
  t.like(unit.ledger.settled[0]?.call, { operation: 'evaluation', callId: 'e-7', agentId: id, sessionId: 7 });
});

test('a turn that is cancelled in the middle is settled for what was asked and said', async (t) => {
  const beforeDelta = createGate();
  const unit = await unitWithModel(t, { text: ['One two three four. ', 'Five.'], beforeDelta }, pricedUncounted);
  const { id } = await createAgent(unit, owner);
  const cancel = new AbortController();
  beforeDelta.release();
  const { usages } = await runTurn(unit, id, { signal: cancel.signal, onText: () => cancel.abort() });
  await eventually('it is settled', () => unit.ledger.settled.length === 1);
  t.like(unit.ledger.settled, [{ estimated: true, served: true }]);
  const { tokensIn, tokensOut, costUsdE8 } = usages.at(-1) ?? {};
  t.is(tokensOut, 5);
  t.like(unit.ledger.settled[0]?.call, { tokensIn, tokensOut, costUsdE8 });
  t.is(unit.ledger.open.size, 0);
});

test('a turn that is stopped sends what is settled for it, counted by the tokenizer of its model', async (t) => {
  await loadTokenizer('gpt-4o');
  const said = 'supercalifragilisticexpialidocious, 0x9f3a77c1 ';
  const tokens = await countTokens('gpt-4o', said);
  t.not(tokens, estimateTokens(said));
  for (const thoughts of [[], ['Is it antidisestablishmentarianism? ']]) {
    const beforeDelta = createGate();
    const script = { text: [said, 'never said'], thoughts, beforeDelta };
    const unit = await unitWithModel(t, script, priced);
    const { id } = await createAgent(unit, owner);
    const stop = new AbortController();
    beforeDelta.release(1 + thoughts.length);
    const reply = await runTurn(unit, id, { stopSignal: stop.signal, onText: () => stop.abort() });
    t.is(reply.error, undefined);
    t.is(reply.texts.join(''), said);
    const { tokensIn, tokensOut, costUsdE8 } = reply.finished ?? {};
    t.is(tokensOut, await countTokens('gpt-4o', said + thoughts.join('')));
    await eventually('it is settled', () => unit.ledger.settled.length === 1);
    t.like(unit.ledger.settled, [{ estimated: true, served: true, call: { tokensIn, tokensOut, costUsdE8 } }]);
    t.is(unit.ledger.open.size, 0);
  }
});

test('a turn that is cancelled while its model thinks is settled for the thoughts, as far as its caller knows', async (t) => {
  const beforeDelta = createGate();
  const thoughts = ['x'.repeat(400), 'y'.repeat(400)];
  const unit = await unitWithModel(t, { thoughts, beforeDelta }, pricedUncounted);
  const { id } = await createAgent(unit, owner);
  const cancel = new AbortController();
  beforeDelta.release();
  const onUsage = ({ tokensOut }: TurnUsage) => tokensOut > 0 && cancel.abort();
  const { usages } = await runTurn(unit, id, { signal: cancel.signal, onUsage });
  await eventually('it is settled', () => unit.ledger.settled.length === 1);
  const { tokensIn = 0, tokensOut, costUsdE8, contextTokens } = usages.at(-1) ?? {};
  t.true(tokensIn > 0 && contextTokens === tokensIn);
  t.is(tokensOut, 100);
  t.like(unit.ledger.settled[0]?.call, { tokensIn, tokensOut, costUsdE8 });
  t.is(unit.ledger.open.size, 0);
});

test('a model that sends no token in time is charged for its prompt', async (t) => {
  const limit = { HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: '1000' };
  const unit = await unitWithModel(t, { beforeDelta: createGate() }, { ...pricedUncounted, ...limit });
  const { id } = await createAgent(unit, owner);
  const { error, requested } = await runTurn(unit, id);
  t.like(error, { reason: 'TURN_TIMEOUT' });
  await eventually('it is settled', () => unit.ledger.settled.length === 1);
  t.like(unit.ledger.settled, [{ estimated: true, served: false }]);
  t.like(unit.ledger.settled[0]?.call, { tokensIn: requested?.contextTokens, tokensOut: 0 });
  t.true((unit.ledger.settled[0]?.call?.costUsdE8 ?? 0n) > 0n);
});

test('a turn that is cancelled while it waits for a slot costs nothing and is not in the ledger', async (t) => {
  const unit = await unitWithModel(t, { beforeHeaders: createGate() }, { ...priced, SESSION_TURNS_AT_ONCE: '1' });
  const { id } = await createAgent(unit, owner);
  const [first, second] = [new AbortController(), new AbortController()];
  const running = runTurn(unit, id, { signal: first.signal });
  await unit.server.until(({ counts }) => counts.running === 1);
  const waiting = runTurn(unit, id, { signal: second.signal });
  second.abort();
  await waiting;
  first.abort();
  await running;
  await eventually('the first is settled', () => unit.ledger.open.size === 0);
  t.is(unit.ledger.reserved.length, 1);
});

test('usage that the provider does not give is estimated, and marked', async (t) => {
  const unit = await unitWithModel(t, { text: 'Twelve words or so.', usage: null }, priced);
  const { id } = await createAgent(unit, owner);
  const { finished } = await runTurn(unit, id);
  t.true((finished?.costUsdE8 ?? 0n) > 0n);
  t.like(unit.ledger.settled, [{ estimated: true, served: true }]);
});

test('a settlement outlives an outage of the ledger, and the turn does not wait for it', async (t) => {
  const beforeDelta = createGate();
  const unit = await unitWithModel(t, { text: ['One. ', 'Two.'], beforeDelta, usage }, priced);
  const { id } = await createAgent(unit, owner);
  beforeDelta.release();
  const onText = () => {
    unit.ledger.isDown = true;
    beforeDelta.open();
  };
  const { finished } = await runTurn(unit, id, { onText });
  t.is(finished?.costUsdE8, 800_000n);
  t.is(unit.ledger.settled.length, 0);
  unit.ledger.isDown = false;
  await eventually('it is settled', () => unit.ledger.settled.length === 1);
  t.is(unit.ledger.open.size, 0);
});

test('a conversation that is too long for the model is sent again with its newer half, and each attempt is metered', async (t) => {
  const unit = await unitWithModel(
    t,
    (_, index) => (index === 0 ? { status: 413 } : { text: 'Short.', usage }),
    priced,
  );
  const { id } = await createAgent(unit, owner);
  const history = ['a', 'b', 'c', 'd'].flatMap((text) => [
    { role: Role.ROLE_USER, text },
    { role: Role.ROLE_MODEL, text },
  ]);
  const { finished } = await runTurn(unit, id, { history: [...history, { role: Role.ROLE_USER, text: 'last' }] });
  t.is(finished?.costUsdE8, 800_000n);
  t.deepEqual(
    unit.ledger.settled.map(({ call, served }) => [call?.callId, served, call?.costUsdE8]),
    [
      ['c.1', false, 0n],
      ['c.2', true, 800_000n],
    ],
  );
});
