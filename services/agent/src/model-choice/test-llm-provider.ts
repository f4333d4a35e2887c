import { randomUUID } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { graphEnum, parseInput, text, withoutNulls } from '@parley/kernel/input';
import { z } from 'zod';
import type { LlmProviderType, TestLlmProviderInput, TestLlmProviderResultDto } from '../generated/schema.ts';
import { meteredGenerate } from '../metering/metered-chain.ts';
import { ModelError } from '../models/model-error.ts';
import type { Ports } from '../ports.ts';
import { accountOf } from '../text-generations/direct-call.ts';
import { checkNamedModel } from './model-override.ts';

const testInput = z.object({ provider: graphEnum<LlmProviderType>(), modelId: text(255).optional() });

const modelRequest = {
  system: '',
  messages: [{ role: 'user' as const, text: 'Answer with the word OK.' }],
  maxOutputTokens: 16,
};
/** Maximum wait for a slot in ms. The sum of `waitMs` and `answerMs` is shorter than the gateway's timeout. */
const waitMs = 10_000;
const answerMs = 18_000;

export async function testLlmProvider(
  ports: Ports,
  { caller, signal }: TenantRequest,
  input: TestLlmProviderInput,
): Promise<TestLlmProviderResultDto> {
  const { provider, modelId } = parseInput(testInput, withoutNulls(input));
  const choice = { provider, model: modelId };
  const chain = ports.models.alone(choice);
  if (!chain) {
    return { ok: false, providerId: null, modelId: null, latencyMs: null, error: 'This provider is not configured' };
  }
  checkNamedModel(ports, choice, 'input.modelId');

  const { providerId, modelId: asked } = chain.first;
  const failed = (error: string) => ({ ok: false, providerId, modelId: asked, latencyMs: null, error });
  const account = accountOf(caller, 'test', randomUUID());
  const limit = new AbortController();
  const late = (error: string, ms: number) => setTimeout(() => limit.abort(new Error(error)), ms);
  let timer = late('All places at this provider are taken', waitMs);
  let startedAt = performance.now();
  const onAsked = () => {
    clearTimeout(timer);
    timer = late('The model did not answer in time', answerMs);
    startedAt = performance.now();
  };
  try {
    const options = { account, signal: AbortSignal.any([signal, limit.signal]), onAsked };
    await meteredGenerate(ports.metering, chain, modelRequest, options);
    const latencyMs = Math.round(performance.now() - startedAt);
    return { ok: true, providerId, modelId: asked, latencyMs, error: null };
  } catch (error) {
    if (error instanceof ModelError) return failed(error.message);
    if (signal.aborted || !limit.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return failed(String((limit.signal.reason as Error).message));
}
