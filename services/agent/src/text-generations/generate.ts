import type { TenantRequest } from '@parley/kernel/caller-request';
import { DomainError, invalid } from '@parley/kernel/errors';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { GenerateRequest, GenerateResponse } from '@parley/protos/parley/agent/v1/agent';
import { meteredGenerate } from '../metering/metered-chain.ts';
import type { ModelRequest } from '../models/model.ts';
import { ModelError } from '../models/model-error.ts';
import type { ChosenModel } from '../models/models.ts';
import type { Ports } from '../ports.ts';
import { lastingReason } from '../turns/turn-error.ts';
import { shownReason } from './finish-reason.ts';

/** Makes one completion for background work. `MODEL_BUSY` means that no slot was free in time and no model was called. */
export async function generate(
  ports: Ports,
  { caller, signal }: TenantRequest,
  generation: GenerateRequest,
): Promise<GenerateResponse> {
  const { agentId, sessionId, operation, callId, system, prompt, jsonSchemaJson } = generation;
  const { maxOutputTokens, maxWaitMs } = generation;
  if (prompt.trim() === '') throw invalid({ path: 'prompt', message: 'must not be blank' });
  if (maxOutputTokens !== undefined && maxOutputTokens < 1) {
    throw invalid({ path: 'max_output_tokens', message: 'must be at least 1' });
  }
  if (maxWaitMs !== undefined && maxWaitMs < 1) throw invalid({ path: 'max_wait_ms', message: 'must be at least 1' });
  const request: ModelRequest = {
    system,
    messages: [{ role: 'user', text: prompt }],
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...jsonOf(jsonSchemaJson),
  };
  const agent = await ports.readAgent(caller.tenantId, agentId);
  const chain = await ports.chooseModel(agent, caller);
  if (chain.first.offline) {
    const { providerId, modelId } = chain.first;
    return { text: '', offline: true, tokensIn: 0, tokensOut: 0, costUsdE8: 0n, providerId, modelId, finishReason: '' };
  }
  const { tenantId, requestId } = caller;
  const account = { tenantId, requestId, callId, operation, agentId, sessionId };
  const acquire = (model: ChosenModel) => acquireSlot(model, tenantId, maxWaitMs, signal);
  try {
    const options = { account, signal, acquireSlot: acquire };
    const { text, spent, finishReason } = await meteredGenerate(ports.metering, chain, request, options);
    const { tokensCached: _, ...usage } = spent;
    return { text, offline: false, ...usage, finishReason: shownReason(finishReason) ?? '' };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (error.kind === 'tooLong') throw new DomainError('invalid', error.message, { reason: 'CONTEXT_TOO_LONG' });
    const reason = lastingReason(error);
    if (reason) throw new DomainError('invalid', error.message, { reason });
    throw new DomainError('unavailable', error.message, { reason: 'MODEL_UNAVAILABLE' });
  }
}

async function acquireSlot(
  model: ChosenModel,
  tenantId: number,
  maxWaitMs: number | undefined,
  signal: AbortSignal,
): Promise<Disposable> {
  if (maxWaitMs === undefined) return await model.acquireSlot(tenantId, signal);
  const waitLimit = new AbortController();
  const giveUp = () => waitLimit.abort(new DomainError('unavailable', 'The model is busy', { reason: 'MODEL_BUSY' }));
  const timer = setTimeout(giveUp, maxWaitMs);
  try {
    return await model.acquireSlot(tenantId, AbortSignal.any([signal, waitLimit.signal]));
  } finally {
    clearTimeout(timer);
  }
}

function jsonOf(jsonSchemaJson: string): Pick<ModelRequest, 'json'> {
  if (jsonSchemaJson === '') return {};
  const schema = parseJson(jsonSchemaJson);
  if (!isJsonObject(schema)) throw invalid({ path: 'json_schema_json', message: 'must be a JSON Schema object' });
  return { json: { schema, name: 'answer' } };
}
