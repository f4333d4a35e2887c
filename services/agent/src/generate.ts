import type { TenantCaller } from '@parley/kernel/caller';
import { DomainError, invalid } from '@parley/kernel/errors';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { GenerateRequest, GenerateResponse } from '@parley/protos/parley/agent/v1/agent';
import type { ModelRequest } from './models/model.ts';
import { ModelError } from './models/model-error.ts';
import type { ChosenModel } from './models/models.ts';
import type { Ports } from './ports.ts';

export type Generation = Omit<GenerateRequest, 'sessionId' | 'operation' | 'callId'>;
export type Generated = Omit<GenerateResponse, 'costUsdE8'>;

/** One completion for background work. `MODEL_BUSY` means that no slot was free in time and the model was not called. */
export async function generate(
  ports: Ports,
  caller: TenantCaller,
  { agentId, system, prompt, jsonSchemaJson, maxOutputTokens, maxWaitMs }: Generation,
  signal: AbortSignal,
): Promise<Generated> {
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
  const model = await ports.chooseModel(agent, caller);
  const { providerId, modelId, offline } = model;
  if (offline) return { text: '', offline, tokensIn: 0, tokensOut: 0, providerId, modelId };
  using _slot = await acquireSlot(model, caller.tenantId, maxWaitMs, signal);
  try {
    const { text, tokensIn, tokensOut } = await model.generate(request, { signal });
    return { text, offline, tokensIn, tokensOut, providerId, modelId };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (error.kind === 'tooLong') throw new DomainError('invalid', error.message, { reason: 'CONTEXT_TOO_LONG' });
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
