import { randomBytes, randomUUID } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { keptGenerationStore } from '../src/text-generations/kept-generation-store.ts';
import { agentReplicas, keyOf } from './agent-replicas.ts';
import { secretsKeys } from './agent-unit.ts';

const leaseMs = 30_000;
const day = 24 * 60 * 60_000;
const generation = `query ($input: GenerateTextInput!) { generateText(input: $input) { text providerId modelId costUsd } }`;
const start = 'mutation ($input: GenerateTextInput!) { startTextGeneration(input: $input) { requestId } }';
const usage = { prompt_tokens: 1_000, completion_tokens: 100 };

const keyed = (use = 'use-1', tenantId = 1): Caller => ({ ...keyOf(tenantId), idempotencyKey: use });

type Replica = Awaited<ReturnType<Awaited<ReturnType<typeof agentReplicas>>['replica']>>;

async function twoReplicas(t: ExecutionContext, env: Record<string, string> = {}) {
  const mesh = await agentReplicas(t, env);
  const [one, two] = [await mesh.replica(), await mesh.replica()];
  const ask = (on: Replica, caller: Caller, query = generation, prompt = 'Say hello.') =>
    on.ask(caller, query, { input: { prompt } });
  const kept = () => mesh.database.transactShared(({ knex }) => knex('kept_generations'));
  return {
    ...mesh,
    one,
    two,
    ask,
    /** Returns the ids of the settled calls in the ledger, without duplicates. */
    calls: () => [...new Set(mesh.ledger.settled.map(({ call }) => call?.callId))],
    kept,
    leaseOf: async () => Number((await kept())[0]?.leaseUntil),
  };
}

test('a generation is made and metered once per key, and every replica returns the same answer', async (t) => {
  const { one, two, ask, server, calls } = await twoReplicas(t);
  server.answerWith({ text: 'Hello there.', usage });
  const first = await ask(one, keyed());
  t.like(first.data?.['generateText'], { text: 'Hello there.', modelId: 'gpt-4o', costUsd: 0.0035 });
  server.answerWith({ text: 'Something else.' });
  t.deepEqual(await ask(two, { ...keyed(), requestId: 'retry' }), first);
  t.is(server.requests.length, 1);
  t.is(calls().length, 1);

  await ask(one, keyed('use-2'));
  await ask(one, keyed('use-1', 2));
  await ask(one, keyOf(1));
  t.is(server.requests.length, 4, 'another key, another tenant, none');
});

test('a call continues after its client disconnects, and a retry gets its answer', async (t) => {
  const { one, two, ask, server, calls, ledger } = await twoReplicas(t);
  const beforeDelta = createGate();
  server.answerWith({ text: ['Hello ', 'there.'], beforeDelta, usage });
  const leaving = new AbortController();
  const left = one.ask(keyed(), generation, { input: { prompt: 'Say hello.' } }, leaving.signal);
  await server.until(({ counts }) => counts.running === 1);
  leaving.abort();
  await t.throwsAsync(left);
  const early = await ask(two, keyed());
  t.like(early.errors?.[0]?.extensions, { code: 'CONFLICT', reason: 'IDEMPOTENCY_KEY_IN_PROGRESS' });
  beforeDelta.open();
  await eventually('it is settled', () => ledger.settled.length === 1);
  t.like((await ask(two, keyed())).data?.['generateText'], { text: 'Hello there.' });
  t.is(server.requests.length, 1);
  t.deepEqual([calls().length, ledger.settled[0]?.served], [1, true]);
});

test('a call whose client leaves before a model is asked is not made, and frees its key', async (t) => {
  const { one, two, ask, server, ledger, kept } = await twoReplicas(t, { SESSION_TURNS_AT_ONCE: '1' });
  const beforeHeaders = createGate();
  t.teardown(() => beforeHeaders.open());
  server.answerWith((_, index) => ({ text: `Answer ${index}.`, usage, ...(index === 0 && { beforeHeaders }) }));
  const before = ask(one, keyOf(1));
  await server.until(({ counts }) => counts.running === 1);
  const leaving = new AbortController();
  const left = one.ask(keyed(), generation, { input: { prompt: 'Say hello.' } }, leaving.signal);
  await eventually('it waits', async () => (await kept()).length === 1);
  leaving.abort();
  await t.throwsAsync(left);
  await eventually('its key is free', async () => (await kept()).length === 0);
  beforeHeaders.open();
  await before;
  t.deepEqual([server.requests.length, ledger.reserved.length], [1, 1]);
  t.like((await ask(two, keyed())).data?.['generateText'], { text: 'Answer 1.' });
});

test('a call whose process dies is made again after its lease, as another call of the ledger', async (t) => {
  const { one, two, ask, server, ledger, calls, later } = await twoReplicas(t);
  const beforeHeaders = createGate();
  t.teardown(() => beforeHeaders.open());
  server.answerWith({ text: 'Never heard.', beforeHeaders });
  void ask(one, keyed()).catch(() => undefined);
  await server.until(({ counts }) => counts.running === 1);
  await one.kill();
  later(leaseMs - 20_000);
  t.like((await ask(two, keyed())).errors?.[0]?.extensions, { code: 'CONFLICT' });
  later(leaseMs);
  server.answerWith({ text: 'Hello there.', usage });
  t.like((await ask(two, keyed())).data?.['generateText'], { text: 'Hello there.' });
  t.is(server.requests.length, 2);
  const [dead, made, ...others] = new Set(ledger.reserved.map(({ call }) => call?.callId));
  t.deepEqual([typeof dead, others], ['string', []], 'the provider was asked twice, and may bill both');
  t.deepEqual(calls(), [made], 'the other is settled at its estimate when its lease ends');
});

test('an answer whose process died is returned without asking again, and settled at its cost', async (t) => {
  const { one, two, ask, server, ledger, kept } = await twoReplicas(t);
  const beforeHeaders = createGate();
  server.answerWith({ text: 'Hello there.', usage, beforeHeaders });
  const unheard = ask(one, keyed());
  await server.until(({ counts }) => counts.running === 1);
  ledger.isDown = true; // as if the process died before it could settle the call
  beforeHeaders.open();
  await unheard;
  t.truthy((await kept())[0]?.answerSealed);
  await one.stop();
  t.is(ledger.settled.length, 0);
  ledger.isDown = false;
  t.like((await ask(two, keyed())).data?.['generateText'], { text: 'Hello there.', costUsd: 0.0035 });
  await eventually('it is settled', () => ledger.settled.length > 0);
  t.like(ledger.settled, [{ served: true, call: { callId: ledger.reserved[0]?.call?.callId, costUsdE8: 350_000n } }]);
  t.is(server.requests.length, 1);
});

test('the lease is renewed while the model is asked', async (t) => {
  const { one, two, ask, server, leaseOf } = await twoReplicas(t, { AGENT_IDEMPOTENCY_LEASE_MS: '3000' });
  const beforeHeaders = createGate();
  server.answerWith({ text: 'Hello there.', beforeHeaders, usage });
  const slow = ask(one, keyed());
  await server.until(({ counts }) => counts.running === 1);
  const first = await leaseOf();
  await eventually('its first lease is over', async () => (await leaseOf()) > first + 3_000);
  t.like((await ask(two, keyed())).errors?.[0]?.extensions, { code: 'CONFLICT' });
  beforeHeaders.open();
  t.is((await slow).errors, undefined);
  t.is(server.requests.length, 1);
});

test('an attempt that lost its lease neither releases its key nor stores its answer', async (t) => {
  const { one, two, ask, server, later, kept } = await twoReplicas(t);
  const [slow, late, retry] = [createGate(), createGate(), createGate()];
  for (const gate of [slow, late, retry]) t.teardown(() => gate.open());
  server.answerWith((_, index) =>
    index === 0
      ? { text: 'One two', ending: 'cut', beforeHeaders: slow }
      : { text: `Answer ${index}.`, beforeHeaders: index === 1 ? late : retry, usage },
  );
  const failing = ask(one, keyed());
  await server.until(({ counts }) => counts.running === 1);
  later(leaseMs + 1_000);
  const overtaken = ask(two, keyed());
  await server.until(({ counts }) => counts.running === 2);
  slow.open();
  t.like((await failing).errors?.[0]?.extensions, { code: 'UNAVAILABLE' });
  t.like((await ask(one, keyed())).errors?.[0]?.extensions, { code: 'CONFLICT' });

  later(3 * leaseMs);
  const last = ask(one, keyed());
  await server.until(({ counts }) => counts.running === 2);
  late.open();
  t.like((await overtaken).data?.['generateText'], { text: 'Answer 1.' });
  t.is((await kept())[0]?.answerSealed, null);
  retry.open();
  t.like((await last).data?.['generateText'], { text: 'Answer 2.' });
  t.like((await ask(two, keyed())).data?.['generateText'], { text: 'Answer 2.' });
});

test('a lease that has ended is not renewed', async (t) => {
  const { database } = await twoReplicas(t);
  const inStore = <T>(work: (store: ReturnType<typeof keptGenerationStore>) => Promise<T>) =>
    database.transact(1, (db) => work(keptGenerationStore(db)));
  const held = { key: 'k', claimId: randomUUID() };
  await inStore((store) => store.take({ ...held, callId: 'one' }, 0));
  await inStore((store) => store.renew(held, leaseMs));
  t.deepEqual(await inStore((store) => store.take({ key: 'k', claimId: randomUUID(), callId: 'two' }, leaseMs)), {
    callId: 'two',
  });
});

test('a call that failed frees its key: the next is another call, admitted at the cap as any', async (t) => {
  const { one, ask, server, ledger, calls, kept } = await twoReplicas(t);
  server.answerWith({ text: 'One two', ending: 'cut' });
  t.like((await ask(one, keyed())).errors?.[0]?.extensions, { code: 'UNAVAILABLE' });
  t.deepEqual(await kept(), []);
  ledger.cap = 0n;
  t.like((await ask(one, keyed())).errors?.[0]?.extensions, { code: 'BAD_REQUEST', reason: 'SPEND_CAP_REACHED' });
  ledger.cap = 1_000_000_000n;
  server.answerWith({ text: 'Hello there.', usage });
  t.like((await ask(one, keyed())).data?.['generateText'], { text: 'Hello there.' });
  t.is(calls().length, 2);
  ledger.cap = 0n;
  t.like((await ask(one, keyed())).data?.['generateText'], { text: 'Hello there.' }, 'a retry of it is no call');
});

test('each field of a request is a separate call', async (t) => {
  const { one, ask, server, calls } = await twoReplicas(t);
  server.answerWith((_, index) => ({ text: `Answer ${index}.`, usage }));
  const two =
    'query ($input: GenerateTextInput!) { a: generateText(input: $input) { text } b: generateText(input: $input) { text } }';
  const first = await ask(one, keyed(), two);
  t.deepEqual(await ask(one, keyed(), two), first);
  t.is(calls().length, 2);
});

test('a kept answer cannot be read in the database, nor under another key', async (t) => {
  const { one, ask, server, database, kept } = await twoReplicas(t);
  server.answerWith({ text: 'canary-answer', usage });
  await ask(one, keyed(), generation, 'canary-prompt');
  await ask(one, keyed('use-2'), generation, 'canary-prompt');
  const rows = await kept();
  t.is(rows.length, 2);
  const stored = rows.flatMap((row) => Object.values(row));
  const asText = stored.map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)));
  t.false(asText.some((value) => value.includes('canary')));
  await database.transactShared(({ knex }) =>
    knex('kept_generations').where({ key: rows[1]?.key }).update({ answerSealed: rows[0]?.answerSealed }),
  );
  const moved = await Promise.all(['use-1', 'use-2'].map((use) => ask(one, keyed(use), generation, 'canary-prompt')));
  const failed = moved.flatMap(({ errors }) => errors ?? []);
  t.deepEqual(
    failed.map(({ extensions }) => extensions['code']),
    ['INTERNAL'],
  );
});

test('a starting process removes kept answers that are two days old, of all tenants, without any request', async (t) => {
  const { one, ask, server, kept, later, replica } = await twoReplicas(t);
  server.answerWith({ text: 'Hello.', usage });
  for (let n = 0; n < 5; n++) await ask(one, keyed(`old ${n}`, 1 + (n % 2)));
  later(2 * day - 60_000);
  await ask(one, keyed('young'));
  later(2 * day + 1_000);
  await replica();
  const rows = await eventually('the old ones are gone', async () => {
    const remaining = await kept();
    return remaining.length === 1 && remaining;
  });
  t.is(rows[0]?.tenantId, 1);
});

test('a text generation is started once under a key: its requestId again, one reservation', async (t) => {
  const { one, two, ask, server, ledger } = await twoReplicas(t);
  const beforeHeaders = createGate();
  server.answerWith({ text: 'Hello.', beforeHeaders, usage });
  const requestIdOf = ({ data }: Awaited<ReturnType<typeof ask>>) => JSON.stringify(data?.['startTextGeneration']);
  const first = requestIdOf(await ask(one, keyed(), start));
  ledger.cap = 0n;
  t.is(requestIdOf(await ask(two, keyed(), start)), first, 'at the cap, too');
  ledger.cap = 1_000_000_000n;
  t.not(requestIdOf(await ask(two, keyed('use-2'), start)), first);
  beforeHeaders.open();
  await eventually('both are settled', () => ledger.settled.length === 2 && ledger.open.size === 0);
  t.is(server.requests.length, 2);
});

test('of parallel starts with one key one generates, and the others give their reservations back', async (t) => {
  const { one, two, ask, server, ledger } = await twoReplicas(t);
  server.answerWith({ text: 'Hello.', usage });
  const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => ask(n % 2 ? one : two, keyed(), start)));
  t.is(new Set(answers.map(({ data }) => JSON.stringify(data))).size, 1);
  await eventually('all are settled', () => ledger.open.size === 0 && ledger.settled.some(({ served }) => served));
  t.is(ledger.settled.filter(({ served }) => served).length, 1);
  t.is(server.requests.length, 1);
});

test('after a key rotation stored answers are encrypted anew, and serve retries once the old key is removed', async (t) => {
  const { one, replica, ask, server, kept } = await twoReplicas(t);
  server.answerWith({ text: 'Hello there.', usage });
  const first = await ask(one, keyed());
  const key = randomBytes(32);
  const alone = key.toString('base64');
  await replica({ settings: { SECRETS_KEYS: `${alone},${secretsKeys.SECRETS_KEYS}` } });
  const box = createSecretBox([key]);
  await eventually('it is sealed anew', async () => box.isCurrent((await kept())[0]?.answerSealed));
  t.deepEqual(await ask(await replica({ settings: { SECRETS_KEYS: alone } }), keyed()), first);
  t.is(server.requests.length, 1);
});
