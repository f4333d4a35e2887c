import type { TenantCaller } from '@parley/kernel/caller';
import { badRequest } from '@parley/kernel/errors';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import { shippedPrices } from '@parley/metering/prices';
import { type CallAccount, platform } from '@parley/metering/spend-meter';
import test, { type ExecutionContext } from 'ava';
import { startEmbeddings } from '../../test/embeddings-server.ts';
import { meteredEmbedder, operations } from './metered-embedder.ts';
import { offlineEmbeddingModel } from './offline-embedding.ts';

const caller: TenantCaller = { kind: 'apiKey', tenantId: 7, apiKeyId: 3, requestId: 'r' };
const model = 'text-embedding-3-small';

async function embedder(
  t: ExecutionContext,
  { remote = true, atCap = false, development = true, maxTokens = undefined as number | undefined } = {},
) {
  const spent: { account: CallAccount; reserved?: object; settled: Record<string, unknown>[] }[] = [];
  const meter = {
    open(account: CallAccount) {
      const call: (typeof spent)[number] = { account, settled: [] };
      spent.push(call);
      return {
        async reserve(estimate: object) {
          if (atCap) throw badRequest('cap', 'SPEND_CAP_REACHED');
          call.reserved = estimate;
        },
        begin: async () => undefined,
        settle: async (outcome: object) => void call.settled.push({ ...outcome }),
      };
    },
  };
  const server = await startEmbeddings(t);
  const endpoint = { url: server.url, key: undefined, model, timeoutMs: 5_000, maxTokens, callsAtOnce: 2 };
  const settings = { endpoint: remote ? endpoint : undefined, prices: shippedPrices() };
  const logged: unknown[] = [];
  const log = { info: (...line: unknown[]) => logged.push(line), warn: () => undefined, error: () => undefined };
  const metrics = createMetrics('knowledge');
  const made = meteredEmbedder({ settings, meter, development, log: log as never, metrics });
  t.teardown(() => made.stop());
  return { made, server, spent, logged, metrics };
}

test("texts are embedded in order in batches of at most 100, and the endpoint's token count is settled once", async (t) => {
  const { made, server, spent } = await embedder(t);
  const texts = Array.from({ length: 250 }, (_, at) => `text ${at}`);
  const { vectors, tokensIn, costUsdE8 } = await made.embed(texts, { caller, model, callId: 'c', agentId: 5 });
  t.deepEqual(
    server.requests.map(({ input }) => input.length),
    [100, 100, 50],
  );
  t.deepEqual(
    vectors,
    texts.map((text) => server.vectorOf(text)),
  );
  t.is(tokensIn, 250 * server.tokensOfText);
  t.is(spent.length, 1);
  t.like(spent[0]?.account, { tenantId: 7, apiKeyId: 3, callId: 'c', operation: operations.tenant, agentId: 5 });
  t.like(spent[0]?.settled, [{ modelId: model, tokensIn, costUsdE8, estimated: false, served: true }]);
  // 2e-8 USD per token
  t.is(costUsdE8, BigInt(tokensIn * 2));
});

test('cost and duration of embeddings are measured; models that are not in the settings share one label', async (t) => {
  const { made, metrics } = await embedder(t);
  const { costUsdE8 } = await made.embed(['a text'], { caller, model, callId: 'c' });
  await made.embed(['a text'], { caller, model: 'text-embedding-3-large', callId: 'd' });
  const text = await metrics.registry.metrics();
  const of = (name: string) =>
    new RegExp(`^parley_knowledge_spend_usd_total.*request_model="${name}".* (.*)$`, 'mu').exec(text);
  t.is(Number(of(model)?.[1]), Number(costUsdE8) / 1e8);
  t.truthy(of('other'));
  t.regex(text, new RegExp(`^gen_ai_client_operation_duration_seconds_count.*request_model="${model}".* 1$`, 'mu'));
  t.notRegex(text, /embedding-3-large/u);
});

test('embedding caused by the operator is metered as reembed and charged to no tenant', async (t) => {
  const { made, spent, metrics } = await embedder(t);
  const { tokensIn } = await made.embed(['a text'], { caller, model, callId: 'c', chargedTo: 'platform' });
  t.like(spent[0]?.account, { tenantId: platform, callId: 'c', operation: operations.platform });
  t.like(spent[0]?.settled, [{ modelId: model, tokensIn, served: true }]);
  t.regex(await metrics.registry.metrics(), /^parley_knowledge_spend_usd_total.*operation="reembed"/mu);
});

test('the maximum tokens of a model come from the settings, else from the prices', async (t) => {
  const { made } = await embedder(t);
  t.is(made.maxTokens?.(model), 8_191);
  t.is(made.maxTokens?.('a-model-of-nobody'), undefined);
  t.is(made.maxTokens?.(offlineEmbeddingModel), undefined);
  const { made: small } = await embedder(t, { maxTokens: 512 });
  t.is(small.maxTokens?.(model), 512);
  t.is(small.maxTokens?.('text-embedding-3-large'), 8_191);
});

test('the reservation is an upper estimate', async (t) => {
  const { made, spent } = await embedder(t);
  const { tokensIn, costUsdE8 } = await made.embed(['An index is a structure'], { caller, model, callId: 'c' });
  const reserved = spent[0]?.reserved as { tokensIn: number; costUsdE8: bigint };
  t.true(reserved.tokensIn >= tokensIn && reserved.costUsdE8 >= costUsdE8);
});

test('long texts are split over more requests', async (t) => {
  const { made, server } = await embedder(t);
  await made.embed(
    Array.from({ length: 10 }, () => 'word '.repeat(6_400)),
    { caller, model, callId: 'c' },
  );
  t.true(server.requests.length > 1);
});

test('at the spend cap embedding fails with SPEND_CAP_REACHED and sends nothing', async (t) => {
  const { made, server } = await embedder(t, { atCap: true });
  t.like(await t.throwsAsync(made.embed(['a'], { caller, model, callId: 'c' })), { reason: 'SPEND_CAP_REACHED' });
  t.is(server.requests.length, 0);
});

test('texts served before a failure are settled, and a call without any is not counted', async (t) => {
  const { made, server, spent } = await embedder(t);
  const texts = Array.from({ length: 150 }, (_, at) => `text ${at}`);
  server.refuseFrom(1, 401);
  await t.throwsAsync(made.embed(texts, { caller, model, callId: 'half' }));
  await t.throwsAsync(made.embed(texts, { caller, model, callId: 'none' }));
  t.like(spent[0]?.settled, [{ tokensIn: 100 * server.tokensOfText, served: true }]);
  t.like(spent[1]?.settled, [{ tokensIn: 0, costUsdE8: 0n, served: false }]);
});

test('a cancelled call is charged for texts that were sent, not for those still queued', async (t) => {
  const { made, server, spent } = await embedder(t);
  const { reached, open } = server.hold('sent');
  t.teardown(open);
  const leaving = new AbortController();
  const ask = (text: string) => made.embed([text], { caller, model, callId: text, signal: leaving.signal });
  const both = Promise.allSettled([ask('a text that is sent'), ask('one that waits')]);
  await reached;
  leaving.abort(new Error('left'));
  await both;
  t.like(spent[0]?.settled, [{ tokensIn: 5, estimated: true, served: true }]);
  t.like(spent[1]?.settled, [{ tokensIn: 0, costUsdE8: 0n, served: false }]);
});

test('without an endpoint the offline embedding answers at no cost, its tokens estimated as characters / 4', async (t) => {
  const { made, spent } = await embedder(t, { remote: false });
  t.is(made.model, 'offline-embedding-1');
  const { vectors, ...took } = await made.embed(['12345678', '1234'], { caller, model: made.model, callId: 'c' });
  t.is(vectors.length, 2);
  t.deepEqual(took, { tokensIn: 3, costUsdE8: 0n });
  t.like(spent[0]?.settled, [{ providerId: 'OFFLINE', costUsdE8: 0n, estimated: true, served: true }]);
});

test('bases of the offline model are embedded offline even with an endpoint; bases of other models are UNAVAILABLE without one', async (t) => {
  const { made, server } = await embedder(t);
  await made.embed(['a'], { caller, model: 'offline-embedding-1', callId: 'c' });
  t.is(server.requests.length, 0);
  const offline = await embedder(t, { remote: false });
  const error = await t.throwsAsync(offline.made.embed(['a'], { caller, model, callId: 'c' }), {
    message: /no longer served/,
  });
  t.like(error, { kind: 'unavailable' });
  t.is(offline.spent.length, 0);
});

test('in production without EMBEDDINGS_URL the offline embedding is used, and the log says so', async (t) => {
  const { made, logged } = await embedder(t, { remote: false, development: false });
  await made.start();
  t.regex(JSON.stringify(logged), /EMBEDDINGS_URL is not set.*offline embedding/u);
});
