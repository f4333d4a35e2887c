import type { TenantCaller } from '@parley/kernel/caller';
import { DomainError, invalid } from '@parley/kernel/errors';
import type { ModelRequest } from './models/model.ts';
import { ModelError } from './models/model-error.ts';
import type { ChosenModel } from './models/models.ts';
import type { Ports } from './ports.ts';

export interface Generation {
  agentId: number;
  system: string;
  prompt: string;
  /** A JSON Schema that the answer is wanted in; empty: text is. */
  jsonSchemaJson: string;
  /** At most this many tokens are answered; the model's own maximum caps it and is the default. */
  maxOutputTokens?: number | undefined;
  /** It waits no longer than that for its place among the calls of the model's provider; default: as long as the caller does. */
  maxWaitMs?: number | undefined;
}

export interface Generated {
  text: string;
  /** Only the offline model could have answered, which understands nothing: the caller does without. */
  offline: boolean;
  tokensIn: number;
  tokensOut: number;
  providerId: string;
  modelId: string;
}

/**
 * One completion for background work, by the model that would answer for the agent.
 * @throws DomainError `unavailable` with `MODEL_UNAVAILABLE`, or with `MODEL_BUSY` where it was not asked; `invalid` with `CONTEXT_TOO_LONG` where the model takes less.
 */
export async function generate(
  ports: Pick<Ports, 'readAgent' | 'chooseModel'>,
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
  using _place = await admitted(model, caller.tenantId, maxWaitMs, signal);
  try {
    const { text, tokensIn, tokensOut } = await model.generate(request, { signal });
    return { text, offline, tokensIn, tokensOut, providerId, modelId };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (error.kind === 'tooLong') throw new DomainError('invalid', error.message, { reason: 'CONTEXT_TOO_LONG' });
    throw new DomainError('unavailable', error.message, { reason: 'MODEL_UNAVAILABLE' });
  }
}

async function admitted(
  model: ChosenModel,
  tenantId: number,
  maxWaitMs: number | undefined,
  signal: AbortSignal,
): Promise<Disposable> {
  if (maxWaitMs === undefined) return await model.admit(tenantId, signal);
  const patience = new AbortController();
  const giveUp = () => patience.abort(new DomainError('unavailable', 'The model is busy', { reason: 'MODEL_BUSY' }));
  const timer = setTimeout(giveUp, maxWaitMs);
  try {
    return await model.admit(tenantId, AbortSignal.any([signal, patience.signal]));
  } finally {
    clearTimeout(timer);
  }
}

function jsonOf(jsonSchemaJson: string): Pick<ModelRequest, 'json'> {
  if (jsonSchemaJson === '') return {};
  try {
    const schema: unknown = JSON.parse(jsonSchemaJson);
    if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) {
      return { json: { schema: schema as Record<string, unknown>, name: 'answer' } };
    }
  } catch {
    // refused below, as what is JSON and no schema
  }
  throw invalid({ path: 'json_schema_json', message: 'must be a JSON Schema object' });
}
