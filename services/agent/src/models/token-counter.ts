import { Worker } from 'node:worker_threads';
import { estimateTokens } from '@parley/text/token-estimate';
import type { Model, ModelRequest, TokenUsage } from './model.ts';
import { textsOf } from './request-texts.ts';
import type { CountAnswer, CountRequest, Encoding } from './token-worker.ts';

const openAIModel = /^(?:openai[/.])?(?<name>gpt-|chatgpt-|o\d)/u;
const olderOpenAIModel = /^(?:openai[/.])?gpt-(?:4(?![.o])|3\.5)/u;
const tokensAroundMessage = 4;
/** Estimated tokens of an image: an upper bound for common sizes, for which vendors count between 85 and 1,600. */
const tokensOfImage = 1_600;
/** After this time the tokenizer's thread counts as overloaded, and the estimate is used. */
const patienceMs = 2_000;
const loadTimeoutMs = 60_000;

/**
 * Counts tokens with the tokenizer of OpenAI's models, in a thread. For other models, and until the tokenizer is loaded
 * (0.4 s or more), the estimate is characters / 4.
 */
export async function countTokens(modelId: string, ...texts: string[]): Promise<number> {
  const encoding = encodingOf(modelId);
  return encoding === undefined ? estimateTokens(...texts) : await counter().count(encoding, texts);
}

export async function loadTokenizer(modelId: string): Promise<void> {
  const encoding = encodingOf(modelId);
  if (encoding !== undefined) await counter().load(encoding);
}

/** Reports whether OpenAI's tokenizer applies to this model; otherwise `countTokens` returns characters / 4 at once. */
export function hasTokenizer(modelId: string): boolean {
  return encodingOf(modelId) !== undefined;
}

/** Returns the tokens of a request, counted as in `countTokens`. Images are estimated, if the model takes them. */
export async function countRequestTokens(
  { modelId, vision }: Pick<Model, 'modelId' | 'vision'>,
  request: ModelRequest,
): Promise<number> {
  const texts = textsOf(request);
  const images = vision ? (request.images?.length ?? 0) * tokensOfImage : 0;
  const around = encodingOf(modelId) === undefined ? 0 : texts.length * tokensAroundMessage;
  return (await countTokens(modelId, ...texts)) + around + images;
}

export type EstimatedModel = Pick<Model, 'modelId' | 'vision' | 'maxOutputTokens'>;

/** Maximum number of tokens that a model may write for a request, thoughts included. */
export function maxOutputOf({ maxOutputTokens }: Pick<Model, 'maxOutputTokens'>, request: ModelRequest): number {
  return Math.min(request.maxOutputTokens ?? maxOutputTokens, maxOutputTokens);
}

/**
 * Estimates the usage of a call whose provider reported no figures. It includes the request, and everything that the model wrote, even
 * thoughts and tool calls. The estimated output is never more than was reserved, however much a provider sends.
 */
export async function estimateUsage(
  model: EstimatedModel,
  request: ModelRequest,
  written: string,
): Promise<TokenUsage> {
  const [tokensIn, tokensOut] = await Promise.all([
    countRequestTokens(model, request),
    countTokens(model.modelId, written),
  ]);
  return { tokensIn, tokensCached: 0, tokensOut: Math.min(tokensOut, maxOutputOf(model, request)), estimated: true };
}

function encodingOf(modelId: string): Encoding | undefined {
  if (!openAIModel.test(modelId)) return undefined;
  return olderOpenAIModel.test(modelId) ? 'cl100k_base' : 'o200k_base';
}

let running: ReturnType<typeof startCounter> | undefined;

/** Returns the tokenizer thread, which the first count starts. A process has only one, because it takes 100 MB. */
function counter() {
  running ??= startCounter();
  return running;
}

function startCounter() {
  const worker = new Worker(new URL('token-worker.ts', import.meta.url));
  const waiting = new Map<number, (tokens: number | undefined) => void>();
  const loading = new Map<Encoding, Promise<unknown>>();
  const loaded = new Set<Encoding>();
  let last = 0;
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
    for (const answer of waiting.values()) answer(undefined);
  };
  worker.on('message', ({ id, tokens }: CountAnswer) => waiting.get(id)?.(tokens));
  worker.on('error', end).on('exit', end);
  worker.unref(); // called after the listeners were added, because adding them keeps the process alive

  async function ask(encoding: Encoding, texts: string[], timeoutMs: number): Promise<number | undefined> {
    const id = (last += 1);
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const timer = setTimeout(() => resolve(undefined), timeoutMs);
    waiting.set(id, resolve);
    worker.postMessage({ id, encoding, texts } satisfies CountRequest);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(id);
    }
  }

  async function load(encoding: Encoding): Promise<void> {
    const isLoading = loading.get(encoding) ?? ask(encoding, [], loadTimeoutMs).then(() => loaded.add(encoding));
    loading.set(encoding, isLoading);
    await isLoading;
  }

  return {
    load,
    async count(encoding: Encoding, texts: string[]): Promise<number> {
      if (hasEnded) return estimateTokens(...texts);
      if (loaded.has(encoding)) return (await ask(encoding, texts, patienceMs)) ?? estimateTokens(...texts);
      void load(encoding);
      return estimateTokens(...texts);
    },
  };
}
