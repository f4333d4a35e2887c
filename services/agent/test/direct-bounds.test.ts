import { randomBytes } from 'node:crypto';
import type { TenantCaller } from '@parley/kernel/caller';
import { createCallers } from '@parley/kernel/caller';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { startModelServer } from '@parley/testing/model-server';
import { requestOf } from '@parley/testing/request-of';
import { startService } from '@parley/testing/service-harness';
import test, { type ExecutionContext } from 'ava';
import { testLlmProvider } from '../src/model-choice/test-llm-provider.ts';
import type { Ports } from '../src/ports.ts';
import { agent } from '../src/service.ts';
import { imageBytes } from '../src/text-generations/direct-call.ts';
import { generateText } from '../src/text-generations/generate-text.ts';
import { startTextGeneration } from '../src/text-generations/start-text-generation.ts';
import { secretsKeys } from './agent-unit.ts';
import { startLedger } from './ledger.ts';

const { signal } = new AbortController();
const keyOf = (tenantId: number) =>
  ({ kind: 'apiKey', tenantId, apiKeyId: 9, requestId: 'r' }) as const satisfies TenantCaller;

/** Starts the agent service for calls without a session, with one provider whose model accepts images. */
async function directUnit(t: ExecutionContext, env: Record<string, string> = {}) {
  const server = await startModelServer();
  t.teardown(() => server.stop());
  const given = {
    callers: createCallers(randomBytes(32)),
    addresses: createAddresses({ ACTION_RPC_URL: '127.0.0.1:1', KNOWLEDGE_RPC_URL: '127.0.0.1:1' }),
  };
  const ledger = await startLedger(t, given);
  const models = {
    CLOUD_HOSTED_MODELS_API: 'openai',
    CLOUD_HOSTED_MODELS_URL: server.url,
    CLOUD_HOSTED_MODELS_KEY: 'k',
    CLOUD_HOSTED_MODELS_MODEL: 'gpt-4o',
  };
  const { unit } = await startService(t, agent, { env: { ...secretsKeys, ...models, ...env }, dependencies: given });
  const waiting = async () => {
    const text = await (await fetch(`${given.addresses.of('agent', 'ops')}/metrics`)).text();
    return Number(/^parley_agent_model_calls_waiting\{.*\} (\d+)$/mu.exec(text)?.[1]);
  };
  return { ports: unit.deps as Ports, server, ledger, waiting };
}

test('every call without a session waits for the slots of its kind, while a turn of its tenant begins', async (t) => {
  const { ports, server, waiting } = await directUnit(t, { SESSION_TURNS_AT_ONCE: '4' });
  const request = requestOf(keyOf(1));
  const model = ports.models.chain().first;
  const calls: Record<string, () => Promise<unknown>> = {
    generateText: () => generateText(ports, request, { prompt: 'Hi' }),
    'generateText with a key': () => generateText(ports, { ...request, effectKey: 'key' }, { prompt: 'Hi' }),
    startTextGeneration: () => startTextGeneration(ports, request, { prompt: 'Hi' }),
    testLlmProvider: () => testLlmProvider(ports, request, { provider: 'CLOUD_HOSTED_MODELS' }),
  };
  for (const [n, [name, call]] of Object.entries(calls).entries()) {
    const held = await model.acquireSlot(1, signal, { isDirect: true }); // the tenant's only slot for direct calls
    const made = call();
    await eventually('it waits, or is made', async () => (await waiting()) === 1 || server.requests.length > n);
    t.is(server.requests.length, n, name);
    (await model.acquireSlot(1, signal))[Symbol.dispose]();
    held[Symbol.dispose]();
    await made;
    await server.until(({ counts }) => counts.finished === n + 1);
  }
});

test("the images of a tenant's calls are bounded by their bytes while they are under way", async (t) => {
  const { ports, server } = await directUnit(t);
  const images = [`data:image/png;base64,${Buffer.alloc(300, 'not looked at').toString('base64')}`];
  const bytes = imageBytes({ system: '', messages: [], images });
  t.is(bytes, 22 + 400);
  const maxBytes = 64 * 1024 * 1024;
  const refused = { kind: 'tooManyRequests', message: 'Too many images are being worked on; try again later' };
  const isFree = (amount: number) => {
    using _held = ports.images.hold(1, amount);
  };
  const calls: Record<string, (tenantId: number, input: { images?: string[] }) => Promise<unknown>> = {
    generateText: (tenantId, input) => generateText(ports, requestOf(keyOf(tenantId)), { prompt: 'Hi', ...input }),
    'generateText with a key': (tenantId, input) =>
      generateText(ports, requestOf(keyOf(tenantId), { effectKey: JSON.stringify(input) }), { prompt: 'Hi', ...input }),
    startTextGeneration: (tenantId, input) =>
      startTextGeneration(ports, requestOf(keyOf(tenantId)), { prompt: 'Hi', ...input }),
  };
  for (const [name, call] of Object.entries(calls)) {
    const asked = server.requests.length;
    const held = ports.images.hold(1, maxBytes - bytes + 1);
    t.like(await t.throwsAsync(call(1, { images })), refused, name);
    t.is(server.requests.length, asked);
    await t.notThrowsAsync(call(1, {}), `${name}: without an image`);
    await t.notThrowsAsync(call(2, { images }), `${name}: of another tenant`);
    await server.until(({ counts }) => counts.finished === asked + 2);
    held[Symbol.dispose]();

    const beforeHeaders = createGate();
    server.answerWith({ beforeHeaders });
    const made = call(1, { images });
    await server.until(({ requests }) => requests.length === asked + 3);
    t.notThrows(() => isFree(maxBytes - bytes), name);
    t.throws(() => isFree(maxBytes - bytes + 1), { message: refused.message }, `${name}: it holds its image`);
    beforeHeaders.open();
    server.answerWith({});
    await made;
    await eventually('its image is let go', () => {
      try {
        isFree(maxBytes);
        return true;
      } catch {
        return false;
      }
    });
  }
});
