import type { TenantCaller } from '@parley/kernel/caller';
import { badRequest, DomainError } from '@parley/kernel/errors';
import { graphEnum, parseInput, rule, text, withoutNulls } from '@parley/kernel/input';
import type { CallAccount, MeteredCall } from '@parley/metering/spend-meter';
import { z } from 'zod';
import type { GenerateTextInput, LlmProviderType } from '../generated/schema.ts';
import { checkNamedModel } from '../model-choice/model-override.ts';
import type { ModelRequest } from '../models/model.ts';
import type { ModelChains } from '../models/model-chains.ts';
import { ModelError } from '../models/model-error.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import { lastingReason } from '../turns/turn-error.ts';

const imagePattern = /^data:image\/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$/u;
const imageRule = rule((given: string) =>
  imagePattern.test(given) ? undefined : 'must be a PNG, JPEG, WebP or GIF image as a data: URL in base64',
);

const directInput = z.object({
  prompt: text(4_000),
  provider: graphEnum<LlmProviderType>().optional(),
  modelId: text(255).optional(),
  images: z.array(z.string().check(imageRule)).max(1, 'must hold at most one image').optional(),
});

export interface DirectCall {
  chain: ProviderChain;
  request: ModelRequest;
  /** Whether the input names the model. Otherwise the operator's default is used. */
  namesModel: boolean;
}

/** A generation that this process has admitted and not yet started. Its request exists only in the memory of this process. */
export interface AdmittedGeneration extends Omit<DirectCall, 'namesModel'> {
  account: CallAccount;
  reserved: MeteredCall;
  held: Disposable;
}

/**
 * Parses the input and selects the models. @throws DomainError `invalid` if the input is malformed, or names a model that tenants may not
 * choose
 */
export function directCall({ models }: { models: ModelChains }, input: GenerateTextInput): DirectCall {
  const { prompt, provider, modelId, images } = parseInput(directInput, withoutNulls(input));
  const choice = { provider, model: provider && modelId };
  checkNamedModel({ models }, choice, 'input.modelId');
  const chain = models.chain(choice);
  // Images are dropped if no model of the chain accepts any.
  const isSeen = images && chain.candidates.some(({ model }) => model.vision);
  const request = { system: '', messages: [{ role: 'user' as const, text: prompt }], ...(isSeen && { images }) };
  return { chain, request, namesModel: modelId !== undefined && chain.first.modelId === modelId };
}

export function imageBytes({ images = [] }: ModelRequest): number {
  return images.reduce((sum, { length }) => sum + length, 0);
}

export function accountOf(caller: TenantCaller, operation: string, id: string): CallAccount {
  const { tenantId, requestId, apiKeyId } = caller;
  return { tenantId, requestId, apiKeyId, operation, isDirect: true, callId: `${operation}.${id}` };
}

/** Returns the client-facing error of a direct call. Only a `ModelError` is mapped; it was logged already. */
export function directError(error: unknown, { namesModel }: Pick<DirectCall, 'namesModel'>): unknown {
  if (!(error instanceof ModelError)) return error;
  const { kind, message } = error;
  const reason = lastingReason(error);
  // API keys are the operator's responsibility, and so are models that the input does not name.
  const isOperators = kind === 'refused' || (kind === 'unknownModel' && !namesModel);
  if (reason && !isOperators) return badRequest(message, reason);
  return new DomainError('unavailable', message, {
    reason: error.beforeFirstChunk ? 'MODEL_UNAVAILABLE' : 'MODEL_FAILED',
  });
}
