import type { LanguageModelV3FinishReason } from '@ai-sdk/provider';
import type { FinishReason } from './model.ts';

type EndReason = Exclude<FinishReason, 'toolCalls' | 'other'> | 'failed';

/**
 * Providers' names, in lower case, for the reasons why an answer ended. The SDKs do not know these names, or map them to a different reason
 * than this table.
 */
const names: Record<EndReason, readonly string[]> = {
  stop: ['stop', 'eos', 'end_turn', 'stop_sequence', 'pause_turn'],
  length: ['length', 'max_tokens', 'max_output_tokens', 'max_length', 'model_length', 'model_context_window_exceeded'],
  contentFilter: [
    'content_filter',
    'content_filtered',
    'content-filter',
    'guardrail_intervened',
    'refusal',
    'sensitive',
    'safety',
    'recitation',
    'blocklist',
    'prohibited_content',
    'spii',
    'language',
    'image_safety',
  ],
  failed: [
    'error',
    'abort',
    'insufficient_system_resource',
    'malformed_function_call',
    'malformed_model_output',
    'malformed_tool_use',
    'malformed_response',
    'unexpected_tool_call',
    'missing_thought_signature',
  ],
};

const reasonsByName = new Map(
  Object.entries(names).flatMap(([reason, all]) => all.map((name) => [name, reason as EndReason] as const)),
);

/** Returns why an answer ended; undefined if the answer stopped without a finish reason. */
export function endReason(
  { unified, raw }: LanguageModelV3FinishReason,
  hasCalls: boolean,
): FinishReason | 'failed' | undefined {
  const named = reasonsByName.get(raw?.toLowerCase() ?? '');
  if (unified === 'length' || named === 'length') return 'length';
  if (unified === 'content-filter' || named === 'contentFilter') return 'contentFilter';
  if (unified !== 'stop' && raw === undefined) return undefined;
  // Some servers report `stop` for an answer that has tool calls.
  if (hasCalls) return 'toolCalls';
  if (unified === 'error' || named === 'failed') return 'failed';
  return unified === 'stop' || named === 'stop' ? 'stop' : 'other';
}
