import { readPrices } from '@parley/metering/prices';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { callCosts } from '../metering/call-cost.ts';
import { ModelError } from '../models/model-error.ts';
import type { ChosenModel } from '../models/models.ts';
import type { ChainEvent, ProviderChain } from '../models/provider-chain.ts';
import { loadTokenizer } from '../models/token-counter.ts';
import type { Ports } from '../ports.ts';
import { runTurn } from './run-turn.ts';
import type { TurnEvent } from './turn.ts';

/** Only the first of these models has a tokenizer. */
const [counting, first, second, plain] = ['gpt-4o', 'gemini-2.5-pro', 'gemini-2.5-flash', 'llama'].map(
  (modelId) => ({ providerId: 'P', modelId, maxOutputTokens: 10, contextTokens: 1_000 }) as ChosenModel,
) as [ChosenModel, ChosenModel, ChosenModel, ChosenModel];

const end: ChainEvent = {
  type: 'finish',
  model: second,
  finishReason: 'stop',
  tokensIn: 100,
  tokensCached: 0,
  tokensOut: 2,
  estimated: false,
};

/**
 * Runs a turn whose model calls yield these events, one list per call. Returns the turn's events, and what the ledger received. `counted`
 * resolves after the turn's second event.
 */
async function turnOf(
  counted: PromiseWithResolvers<void>,
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
    turnKey: 't',
    resumes: false,
    clientExternalId: '',
    metadataJson: '',
    testDraft: false,
    identityJson: '',
    includesEarlierUsage: false,
    opens: false,
    linkedIdentities: [],
    history: [...history, { role: 'user' as const, text: 'last' }],
  };
  const request = requestOf({ kind: 'user', tenantId: 1, userId: 1, requestId: 'test' } as const);
  const events: TurnEvent[] = [];
  for await (const event of runTurn(ports, request, turn)) {
    events.push(event);
    if (events.length === 2) counted.resolve();
  }
  return { events, settled };
}

test('a reply counts what attempts took before the conversation was found to be too long', async (t) => {
  const thought = { tokensIn: 1_000, tokensCached: 0, tokensOut: 500, estimated: false };
  const { events, settled } = await turnOf(
    Promise.withResolvers(),
    [
      { type: 'asked', model: first },
      { type: 'abandoned', model: first, usage: thought },
      { type: 'asked', model: second },
      new ModelError('tooLong', { beforeFirstChunk: true, transient: false }),
    ],
    [{ type: 'asked', model: second }, { type: 'text', text: 'Hello' }, end],
  );
  t.is(settled.length, 2);
  const cost = settled.reduce((sum, { costUsdE8 }) => sum + costUsdE8, 0n);
  const usages = events.map(({ usage }) => usage);
  t.like(usages.at(-1), {
    tokensIn: 1_100,
    tokensOut: 502,
    contextTokens: 100,
    costUsdE8: cost,
    modelId: second.modelId,
  });
  const [asked, abandoned, other, failed, between, again] = usages;
  const earlier = { tokensIn: 1_000, tokensOut: 500, costUsdE8: settled[0]?.costUsdE8 };
  t.like(asked, { tokensIn: asked?.contextTokens, tokensOut: 0, modelId: first.modelId });
  t.like(abandoned, { ...earlier, contextTokens: 0 });
  t.like(other, { tokensIn: 1_000 + (other?.contextTokens ?? 0), tokensOut: 500 });
  t.like(failed, earlier);
  t.like(between, { ...earlier, contextTokens: 0 });
  t.like(again, { tokensIn: 1_000 + (again?.contextTokens ?? 0), tokensOut: 500 });
  t.true((again?.contextTokens ?? 0) < (other?.contextTokens ?? 0), 'the newer half');
});

test('usage is reported while its model is asked: its prompt as counted, then its thoughts', async (t) => {
  await loadTokenizer('gpt-4o');
  const counted = Promise.withResolvers<void>();
  const { events } = await turnOf(counted, [
    { type: 'asked', model: counting },
    { until: counted.promise },
    { thought: 'Hm. ' },
    { thought: 'x'.repeat(400) },
    { thought: 'z'.repeat(40) },
    { type: 'text', text: 'Hello' },
    { thought: 'y'.repeat(100) },
    end,
  ]);
  const [asked, prompt, thought, text, finished, ...more] = events.map((event) => ({
    ...event.usage,
    text: event.text,
  }));
  const contextTokens = prompt?.contextTokens;
  t.true(asked?.contextTokens !== contextTokens, 'an estimate, then the count');
  t.like(prompt, { tokensIn: contextTokens, tokensOut: 0 });
  t.like(thought, { tokensIn: contextTokens, tokensOut: 111, text: '' });
  t.like(text, { tokensIn: contextTokens, tokensOut: Math.ceil(449 / 4), text: 'Hello' });
  t.like(finished, { tokensIn: 100, tokensOut: 2 });
  t.deepEqual(more, [], 'a few more thoughts are no event of their own');
});

test('thoughts of a failed attempt are not part of the next one', async (t) => {
  const counted = Promise.withResolvers<void>();
  const { events } = await turnOf(counted, [
    { type: 'asked', model: plain },
    { thought: 'x'.repeat(400) },
    { until: counted.promise },
    { type: 'abandoned', model: plain, usage: { tokensIn: 1_000, tokensCached: 0, tokensOut: 100, estimated: true } },
    { type: 'asked', model: plain },
    { thought: 'y'.repeat(300) },
    { type: 'text', text: 'Hello' },
    { ...end, model: plain },
  ]);
  t.deepEqual(
    events.map(({ usage }) => usage?.tokensOut),
    [0, 100, 100, 100, 175, 177, 102],
  );
});

test('nothing follows the end of a reply, not even the count of its prompt', async (t) => {
  await loadTokenizer('gpt-4o');
  const { events } = await turnOf(Promise.withResolvers(), [
    { type: 'asked', model: counting },
    { type: 'text', text: 'Hello' },
    { thought: 'x'.repeat(400) },
    end,
    { thought: 'x'.repeat(400) },
  ]);
  t.like(events.at(-1)?.usage, { tokensIn: 100, tokensOut: 2 });
});
