import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV3CallOptions, LanguageModelV3FinishReason, LanguageModelV3Usage } from '@ai-sdk/provider';
import { estimateTokens } from '@parley/text/token-estimate';
import { alternateRoles } from './alternate-roles.ts';
import { callDeadlines } from './call-deadlines.ts';
import type { FinishReason, Model, ModelEvent, ModelRequest, TokenUsage } from './model.ts';
import type { ModelError, ModelErrorOptions } from './model-error.ts';
import type { ProviderSettings } from './model-settings.ts';
import type { ProviderConnections } from './provider-connections.ts';
import { ErrorEvent, modelErrorOf } from './provider-error.ts';
import { estimateRequestTokens } from './token-estimate.ts';
import { wholeCharacters } from './whole-characters.ts';

export interface OpenAICompatibleSettings extends ProviderSettings {
  providerId: string;
  /** From the request to the end of the answer, in ms. Default 300,000. */
  answerTimeoutMs?: number;
}

export interface ModelLog {
  warn(fields: Record<string, unknown>, message: string): void;
}

/** Speaks OpenAI's chat completions API (vLLM, Ollama, llama.cpp, vendors). It never retries; that is up to the caller. */
export function openAICompatibleModel(
  settings: OpenAICompatibleSettings,
  connections: ProviderConnections,
  log: ModelLog,
): Model {
  const { providerId, modelId, contextTokens, maxOutputTokens } = settings;
  const { firstTokenTimeoutMs, answerTimeoutMs = 300_000 } = settings;
  const { origin } = new URL(settings.url);
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: settings.url,
    ...(settings.key !== undefined && { apiKey: settings.key }),
    fetch: connections.fetch,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  const sdkModel = provider.chatModel(modelId);

  const failed = (
    thrown: unknown,
    options: Omit<ModelErrorOptions, 'transient' | 'cause'> & { timedOut: boolean },
  ): ModelError => {
    const error = modelErrorOf(thrown, origin, options);
    const fault = error.cause instanceof Error ? error.cause.message : undefined;
    log.warn(
      { providerId, modelId, kind: error.kind, beforeFirstChunk: error.beforeFirstChunk, fault },
      'model call failed',
    );
    return error;
  };

  return {
    providerId,
    modelId,
    offline: false,
    contextTokens,
    maxOutputTokens,

    async *stream(request, { signal }) {
      signal.throwIfAborted();
      const call = callDeadlines(signal, { firstTokenTimeoutMs, answerTimeoutMs });
      const characters = wholeCharacters();
      let given = '';
      let complete = false;
      const give = (text: string): ModelEvent => {
        given += text;
        return { type: 'text', text };
      };
      try {
        const { stream } = await sdkModel.doStream(callOptions(request, maxOutputTokens, call.signal));
        for await (const part of stream) {
          if (part.type === 'text-delta' || part.type === 'reasoning-delta') call.started();
          if (part.type === 'error') throw part.error instanceof Error ? part.error : new ErrorEvent(part.error);
          if (part.type === 'text-delta') {
            const text = characters.push(part.delta);
            if (text !== '') yield give(text);
          }
          if (part.type === 'finish') {
            complete = true;
            const rest = characters.flush();
            if (rest !== '') yield give(rest);
            yield { type: 'finish', ...endOf(request, given, part) };
          }
        }
      } catch (thrown) {
        signal.throwIfAborted();
        const usage = given === '' ? undefined : estimate(request, given);
        throw failed(thrown, { beforeFirstChunk: given === '', timedOut: call.timedOut(), ...(usage && { usage }) });
      } finally {
        call.end(complete);
      }
    },

    async generate(request, { signal }) {
      signal.throwIfAborted();
      const call = callDeadlines(signal, { answerTimeoutMs });
      let complete = false;
      try {
        const answer = await sdkModel.doGenerate(callOptions(request, maxOutputTokens, call.signal));
        complete = true;
        const text = answer.content
          .map((part) => (part.type === 'text' ? part.text : ''))
          .join('')
          .toWellFormed();
        return { text, ...endOf(request, text, answer) };
      } catch (thrown) {
        signal.throwIfAborted();
        throw failed(thrown, { beforeFirstChunk: true, timedOut: call.timedOut() });
      } finally {
        call.end(complete);
      }
    },
  };
}

function callOptions(request: ModelRequest, most: number, abortSignal: AbortSignal): LanguageModelV3CallOptions {
  const { system, messages, json } = alternateRoles(request);
  return {
    prompt: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system.toWellFormed() }]),
      ...messages.map(({ role, text }) => ({ role, content: [{ type: 'text' as const, text: text.toWellFormed() }] })),
    ],
    maxOutputTokens: Math.min(request.maxOutputTokens ?? most, most),
    ...(json && { responseFormat: { type: 'json', schema: json.schema, name: json.name } }),
    abortSignal,
  };
}

/** @throws ErrorEvent for an empty answer without a reason such as length or content filter. */
function endOf(
  request: ModelRequest,
  text: string,
  { usage, finishReason }: { usage: LanguageModelV3Usage; finishReason: LanguageModelV3FinishReason },
): TokenUsage & { finishReason: FinishReason } {
  const reason = finishReasonOf(finishReason.unified);
  if (text === '' && (reason === 'stop' || reason === 'other')) throw new ErrorEvent({ type: 'empty_answer' });
  const estimated = estimate(request, text);
  return {
    // The SDK reports a missing figure as 0, which is never the real usage.
    tokensIn: usage.inputTokens.total || estimated.tokensIn,
    tokensOut: usage.outputTokens.total || estimated.tokensOut,
    finishReason: reason,
  };
}

function estimate(request: ModelRequest, text: string): TokenUsage {
  return { tokensIn: estimateRequestTokens(request), tokensOut: estimateTokens(text) };
}

function finishReasonOf(reason: LanguageModelV3FinishReason['unified']): FinishReason {
  if (reason === 'stop' || reason === 'length') return reason;
  return reason === 'content-filter' ? 'contentFilter' : 'other';
}
