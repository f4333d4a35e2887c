import { inTenant } from '@parley/kernel/caller';
import { readPrices } from '@parley/metering/prices';
import test from 'ava';
import { callCosts } from './call-cost.ts';
import { ModelError } from './models/model-error.ts';
import type { ChosenModel } from './models/models.ts';
import type { ChainEvent, ProviderChain } from './models/provider-chain.ts';
import { loadTokenizer } from './models/token-counter.ts';
import type { Ports } from './ports.ts';
import { runTurn, type TurnEvent } from './run-turn.ts';

const [first, second, plain] = ['gpt-4o', 'gpt-4o-mini', 'llama'].map(
  (modelId) => ({ providerId: 'P', modelId, maxOutputTokens: 10, contextTokens: 1_000 }) as ChosenModel,
) as [ChosenModel, ChosenModel, ChosenModel];

const end: ChainEvent = {
  type: 'finish',
  model: second,
  finishReason: 'stop',
  tokensIn: 100,
  tokensCached: 0,
  tokensOut: 2,
  estimated: false,
};

/** The events of a turn whose model calls say this, one after the other, and what the ledger got. `used` gets the first such event. */
async function turnOf(
  used: PromiseWithResolvers<unknown>,
  ...calls: (ChainEvent | Error | { thought: string } | { until: Promise<unknown> })[][]
) {
  const settled: { costUsdE8: bigint; tokensIn: number }[] = [];
  const chain: ProviderChain = {
    first,
    candidates: [first, second].map((model) => ({ model, retries: 0 })),
    async *stream(_request, { beforeFirst, onThought }) {
      await beforeFirst?.();
      for (const event of calls.shift() ?? []) {
        if (event instanceof Error) throw event;
        if ('until' in event) await event.until;
        else if ('thought' in event) onThought?.(event.thought);
        else yield event;
      }
    },
  };
  const call = { reserve: async () => {}, begin: async () => {}, settle: async (spent: never) => settled.push(spent) };
  const { prices } = readPrices(undefined);
  const metering = { meter: { open: () => call }, costs: callCosts(prices), metrics: { spent: () => undefined } };
  const agent = { id: 1, name: 'Ada', personaPrompt: 'Be brief.' };
  const ports = { readAgent: async () => agent, chooseModel: async () => chain, metering } as unknown as Ports;
  const history = ['one', 'two', 'three'].flatMap((text) => [
    { role: 'user' as const, text },
    { role: 'assistant' as const, text: `re ${text}` },
  ]);
  const turn = {
    agentId: 1,
    sessionId: 1,
    callId: 'c',
    history: [...history, { role: 'user' as const, text: 'last' }],
  };
  const caller = inTenant({ kind: 'user', tenantId: 1, userId: 1, requestId: 'test' });
  const events: TurnEvent[] = [];
  for await (const event of runTurn(ports, caller, turn, new AbortController().signal)) {
    events.push(event);
    if (event.type === 'used') used.resolve(event);
  }
  return { events, settled };
}

test('a reply counts what attempts took before the conversation was found to be too long', async (t) => {
  const thought = { tokensIn: 1_000, tokensCached: 0, tokensOut: 500, estimated: false };
  const { events, settled } = await turnOf(
    Promise.withResolvers(),
    [
      { type: 'asked', model: first },
      { type: 'left', model: first, usage: thought },
      { type: 'asked', model: second },
      new ModelError('tooLong', { beforeFirstChunk: true, transient: false }),
    ],
    [{ type: 'asked', model: second }, { type: 'text', text: 'Hello' }, end],
  );
  t.is(settled.length, 2);
  const cost = settled.reduce((sum, { costUsdE8 }) => sum + costUsdE8, 0n);
  t.like(events.at(-1), { type: 'finished', tokensIn: 1_100, tokensOut: 502, contextTokens: 100, costUsdE8: cost });
  const earlier = { tokensIn: 1_000, tokensOut: 500, costUsdE8: settled[0]?.costUsdE8 };
  const [one, other, again] = events.filter((event) => event.type === 'request');
  t.is(one?.earlier, undefined);
  t.like(other, { earlier });
  t.like(again, { earlier });
});

test('what the request takes is told while its model is asked: its prompt as counted, then its thoughts', async (t) => {
  await loadTokenizer('gpt-4o');
  const used = Promise.withResolvers<unknown>();
  const { events } = await turnOf(used, [
    { type: 'asked', model: first },
    { until: used.promise },
    { thought: 'Hm. ' },
    { thought: 'x'.repeat(400) },
    { thought: 'z'.repeat(40) },
    { type: 'text', text: 'Hello' },
    { thought: 'y'.repeat(100) },
    end,
  ]);
  const [asked, counted, thought] = events;
  const contextTokens = counted?.type === 'used' ? counted.usage.contextTokens : 0;
  t.like(asked, { type: 'request', modelId: 'gpt-4o' });
  t.true(contextTokens > 0 && asked?.type === 'request' && contextTokens !== asked.contextTokens);
  t.deepEqual(counted, { type: 'used', usage: { contextTokens, thoughtTokens: 0 } });
  t.deepEqual(thought, { type: 'used', usage: { contextTokens, thoughtTokens: 101 } });
  const [text, rest, finished, ...more] = events.slice(3);
  t.is(text?.type, 'text');
  t.deepEqual(rest, { type: 'used', usage: { contextTokens, thoughtTokens: 111 } }, 'the rest, once it answers');
  t.deepEqual([finished?.type, more], ['finished', []], 'a few more thoughts are no event of their own');
});

test('thoughts of an attempt that failed are none of the next one', async (t) => {
  const used = Promise.withResolvers<unknown>();
  const { events } = await turnOf(used, [
    { type: 'asked', model: plain },
    { thought: 'x'.repeat(400) },
    { until: used.promise },
    { type: 'left', model: plain, usage: { tokensIn: 1_000, tokensCached: 0, tokensOut: 100, estimated: true } },
    { type: 'asked', model: plain },
    { thought: 'y'.repeat(300) },
    { type: 'text', text: 'Hello' },
    { ...end, model: plain },
  ]);
  const told = events.flatMap((event) => (event.type === 'used' ? [event.usage.thoughtTokens] : []));
  t.deepEqual(told, [100, 0, 75]);
});

test('while no model is asked after one was left, what it took is earlier usage', async (t) => {
  const free = { tokensIn: 0, tokensCached: 0, tokensOut: 0, estimated: false };
  const { events } = await turnOf(Promise.withResolvers(), [
    { type: 'asked', model: plain },
    { type: 'left', model: plain, usage: free },
    { type: 'asked', model: plain },
    { type: 'left', model: plain, usage: { ...free, tokensIn: 1_000 } },
    { type: 'asked', model: plain },
    { type: 'text', text: 'Hello' },
    { ...end, model: plain },
  ]);
  const none = { type: 'used', usage: { contextTokens: 0, thoughtTokens: 0 } };
  const [, one, , earlier, two] = events;
  t.deepEqual([one, two], [none, none]);
  t.like(earlier, { type: 'earlier', usage: { tokensIn: 1_000, tokensOut: 0 } });
});
