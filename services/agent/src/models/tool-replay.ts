import type { JSONObject, LanguageModelV3StreamPart, SharedV3ProviderMetadata } from '@ai-sdk/provider';
import { isJsonObject } from '@parley/kernel/json';
import type { Model, ReplayMetadata, ToolCallReplay } from './model.ts';

interface Written {
  type: 'text' | 'reasoning';
  text: string;
  metadata?: ReplayMetadata;
}

/**
 * Collects what a model must get back together with its tool calls: signed thoughts of Anthropic and Bedrock, thought
 * signatures of Google, and `reasoning_content` for models that require it.
 */
export function toolReplays({ providerId, modelId }: Pick<Model, 'providerId' | 'modelId'>) {
  let before: Written[] = [];
  let wantsReasoning = false;

  /** Returns the piece that is being written. A new piece begins if `isStart` is true, or if the last piece is not of this type. */
  function current(type: Written['type'], isStart = false): Written {
    const last = before.at(-1);
    if (last?.type === type && !isStart) return last;
    const next: Written = { type, text: '' };
    before.push(next);
    return next;
  }

  return {
    /** Records text that the reader has received. */
    wrote(text: string): void {
      current('text').text += text;
    },
    read(part: LanguageModelV3StreamPart): void {
      if (part.type === 'raw') wantsReasoning ||= hasReasoningContent(part.rawValue);
      if (part.type !== 'reasoning-start' && part.type !== 'reasoning-delta' && part.type !== 'reasoning-end') return;
      const written = current('reasoning', part.type === 'reasoning-start');
      if (part.type === 'reasoning-delta') written.text += part.delta;
      const metadata = merged(written.metadata, part.providerMetadata);
      if (metadata) written.metadata = metadata;
    },
    /** Returns the replay data of a call that is now complete. */
    take(given: SharedV3ProviderMetadata | undefined): ToolCallReplay {
      const kept = before.filter(({ type, metadata }) => type === 'text' || metadata !== undefined || wantsReasoning);
      before = [];
      const metadata = merged(undefined, given);
      return { providerId, modelId, before: kept, ...(metadata && { metadata }) };
    },
  };
}

/**
 * Merges metadata. The SDK for OpenAI-compatible servers returns Google's signatures under the SDK's own name, but expects them back under
 * Google's name.
 */
function merged(known: ReplayMetadata | undefined, given: SharedV3ProviderMetadata | undefined) {
  if (!given) return known;
  const entries = Object.entries(given).map(([sdk, fields]): [string, JSONObject] => {
    const name = sdk === 'openai-compatible' ? 'google' : sdk;
    return [name, { ...known?.[name], ...fields }];
  });
  return { ...known, ...Object.fromEntries(entries) };
}

function hasReasoningContent(chunk: unknown): boolean {
  const choices = isJsonObject(chunk) ? chunk['choices'] : undefined;
  const delta: unknown = Array.isArray(choices) && isJsonObject(choices[0]) ? choices[0]['delta'] : undefined;
  return isJsonObject(delta) && typeof delta['reasoning_content'] === 'string';
}
