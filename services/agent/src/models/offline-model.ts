import { setTimeout as delay, setImmediate as nextTick } from 'node:timers/promises';
import { estimateTokens } from '@parley/text/token-estimate';
import type { FinishReason, Model } from './model.ts';
import { ModelError } from './model-error.ts';
import { composeReply } from './offline-reply.ts';
import { estimateRequestTokens } from './token-estimate.ts';
import { wordChunks } from './word-chunks.ts';

export interface OfflineModelOptions {
  /** Milliseconds between words. Default 0: one tick of the event loop. */
  wordPaceMs?: number;
}

/**
 * Creates the offline model, which is not a language model: it extracts sentences and adds fixed English phrases and
 * questions. It is deterministic, never calls tools, and refuses JSON requests, so it cannot judge.
 */
export function offlineModel({ wordPaceMs = 0 }: OfflineModelOptions = {}): Model {
  return {
    providerId: 'OFFLINE',
    modelId: 'offline-extractive',
    offline: true,
    vision: false,
    contextTokens: Number.POSITIVE_INFINITY,
    maxOutputTokens: Number.POSITIVE_INFINITY,

    async *stream(request, { signal }) {
      signal.throwIfAborted();
      if (request.json) throw new ModelError('badRequest', { beforeFirstChunk: true, transient: false });
      const { tools: _, ...without } = request;
      const messages = request.messages.filter((message) => message.role !== 'tool');
      const said = request.opening ? [{ role: 'user' as const, text: 'Hello' }] : messages;
      const reply = (request.opening?.text ?? composeReply(request.system, said, request.passages)).toWellFormed();
      const { text, finishReason } = truncate(reply, request.maxOutputTokens);
      for (const chunk of wordChunks(text)) {
        yield { type: 'text', text: chunk };
        await pause(wordPaceMs, signal);
      }
      const usage = {
        tokensIn: estimateRequestTokens({ ...without, messages: messages.map(({ role, text }) => ({ role, text })) }),
        tokensCached: 0,
        tokensOut: estimateTokens(text),
      };
      yield { type: 'finish', finishReason, ...usage, estimated: true };
    },
  };
}

async function pause(paceMs: number, signal: AbortSignal): Promise<void> {
  try {
    await (paceMs > 0 ? delay(paceMs, undefined, { signal }) : nextTick(undefined, { signal }));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  signal.throwIfAborted();
}

function truncate(reply: string, maxOutputTokens: number | undefined): { text: string; finishReason: FinishReason } {
  if (maxOutputTokens === undefined || estimateTokens(reply) <= maxOutputTokens)
    return { text: reply, finishReason: 'stop' };
  return { text: [...reply].slice(0, maxOutputTokens * 4).join(''), finishReason: 'length' };
}
