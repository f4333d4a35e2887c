import {
  type LanguageModelV3,
  type LanguageModelV3StreamPart,
  type LanguageModelV3Usage,
  TypeValidationError,
} from '@ai-sdk/provider';
import { isJsonObject } from '@parley/kernel/json';
import { drain } from './adapted-stream.ts';
import { callDeadlines } from './call-deadlines.ts';
import { endReason } from './end-reason.ts';
import { type Heard, leadingThought } from './leading-thought.ts';
import type { Model, ModelCall, ModelEvent, ModelLog, ModelRequest, TokenUsage } from './model.ts';
import { callOptions } from './model-prompt.ts';
import type { ProviderSettings } from './model-settings.ts';
import { modelErrorOf } from './provider-error.ts';
import { EndedAnswer, ErrorEvent } from './provider-fault.ts';
import { textsOf } from './request-texts.ts';
import { type EstimatedModel, estimateUsage, maxOutputOf } from './token-counter.ts';
import { isNamelessCall, toolCallReader } from './tool-calls.ts';
import { hasTools } from './tool-prompt.ts';
import { type ToolRefusal, ToolsRefused, toolRefusalOf, toolSupport } from './tool-support.ts';
import { wholeCharacters } from './whole-characters.ts';

export interface SdkModelSettings
  extends Pick<Model, 'providerId' | 'modelId' | 'vision' | 'contextTokens' | 'maxOutputTokens'> {
  api: ProviderSettings['api'];
  firstTokenTimeoutMs: number;
  idleTimeoutMs: number;
  callTimeoutMs: number;
  origin: string;
  secrets: string[];
  rawEvents: boolean;
  /** Reports whether the provider has received the request of the call with this signal, and has not refused it. */
  isTaken: (signal: AbortSignal) => boolean;
  /** Registers `read` for the call with this signal. `read` receives the thoughts that the SDK does not report. */
  onThought?: (signal: AbortSignal, read: (thought: string) => void) => void;
}

/** OpenAI refuses longer descriptions of tools. The limit for other models keeps requests reasonably short. */
const maxToolDescription = { openai: 1_024, other: 6_000 };

/**
 * Creates a model in any wire format that an SDK supports. The model does not retry, except once without tools if the
 * provider refuses the tools.
 */
export function sdkModel(settings: SdkModelSettings, sdk: () => Promise<LanguageModelV3>, log: ModelLog): Model {
  const { api, providerId, modelId, vision, contextTokens, maxOutputTokens, origin, secrets } = settings;
  const { firstTokenTimeoutMs, idleTimeoutMs, callTimeoutMs } = settings;
  const model = { providerId, modelId, offline: false, vision, contextTokens, maxOutputTokens };
  const prompted = { ...model, maxToolDescription: maxToolDescription[api === 'openai' ? api : 'other'] };
  const support = toolSupport(model, log);

  const failed = (
    thrown: unknown,
    request: ModelRequest,
    options: { beforeFirstChunk: boolean; timedOut: boolean; usage?: TokenUsage },
  ) => {
    const passages = (request.passages ?? []).flatMap(({ documentName, text }) => [documentName, text]);
    const texts = [...textsOf(request), ...passages];
    const error = modelErrorOf(thrown, { ...options, origin, secrets, texts });
    const fault = error.cause instanceof Error ? error.cause.message : undefined;
    log.warn(
      { providerId, modelId, kind: error.kind, beforeFirstChunk: error.beforeFirstChunk, fault },
      'model call failed',
    );
    return error;
  };

  /** Sends one HTTP request. @throws ToolsRefused if the provider refuses the request's tools */
  async function* ask(request: ModelRequest, { signal, onThought }: ModelCall): AsyncGenerator<ModelEvent> {
    signal.throwIfAborted();
    const call = callDeadlines(signal, { firstTokenTimeoutMs, idleTimeoutMs, callTimeoutMs });
    const characters = wholeCharacters();
    const aloud = leadingThought();
    const tools = hasTools(request) ? toolCallReader(request, model) : undefined;
    let given = '';
    /** Thoughts and tool calls, which are not shown. */
    let unseen = '';
    let complete = false;
    const maxCharacters = charactersPerToken * maxOutputOf(model, request);
    let isCut = false;
    /** @returns the beginning of a piece, as far as the answer's maximum length allows */
    const bounded = (piece: string): string => {
      const room = maxCharacters - given.length - unseen.length;
      if (piece.length + aloud.held > room) isCut = true;
      return piece.length > room ? piece.slice(0, room).replace(/[\uD800-\uDBFF]$/, '') : piece;
    };
    const think = (piece: string) => {
      const thought = bounded(piece);
      unseen += thought;
      onThought?.(thought);
    };
    settings.onThought?.(call.signal, (thought) => {
      call.awaitNext();
      think(thought);
      if (isCut) throw new Error('The answer is longer than its maximum');
    });
    /** Returns the `finish` event for a response whose stream stopped without one. @throws EndedAnswer if the response has no words */
    const cut = async (): Promise<ModelEvent> => {
      const usage = await estimateUsage(model, request, given + unseen);
      if (given === '' && !tools?.hasCalls) throw new EndedAnswer('limitReached', usage);
      return { type: 'finish', finishReason: 'length', ...usage };
    };
    /** Records a piece of the answer. @returns its visible text */
    const hear = ({ text, thought }: Heard): string => {
      if (thought !== '') think(thought);
      return text;
    };
    try {
      const includeRawChunks = settings.rawEvents || (tools !== undefined && api === 'openai-compatible');
      const options = { ...callOptions(request, prompted, call.signal), includeRawChunks };
      const { stream } = await (await sdk()).doStream(options);
      const parts = stream.getReader();
      for (let read = await parts.read(); !read.done; read = await parts.read()) {
        const part = read.value;
        const text = part.type === 'text-delta' ? bounded(hear(aloud.push(characters.push(part.delta)))) : '';
        tools?.read(part);
        if (part.type === 'reasoning-delta' || part.type === 'tool-input-delta') think(part.delta);
        if (text !== '') {
          call.arrived();
          given += text;
          tools?.wrote(text);
          yield { type: 'text', text };
        }
        if (isCut) {
          yield await cut();
          return;
        }
        if (tools && part.type === 'tool-call') {
          call.arrived();
          yield tools.eventOf(part);
        }
        if (isProgress(part)) call.awaitNext();
        const error = errorOf(part);
        if (error) throw error;
        if (part.type !== 'finish') continue;
        const rest = hear(aloud.push(characters.flush())) + hear(aloud.flush());
        given += rest;
        if (tools && !tools.hasCalls && part.finishReason.unified === 'tool-calls') yield tools.nameless();
        const finishReason = endReason(part.finishReason, tools?.hasCalls ?? false);
        if (finishReason === undefined) throw new ErrorEvent({ type: 'unfinished_answer' });
        complete = true;
        drain(parts);
        const usage = await usageOf(model, request, given + unseen, part.usage);
        if (rest !== '') yield { type: 'text', text: rest };
        // A failure of the provider itself is not charged if the provider reports no usage.
        if (finishReason === 'failed' && given + unseen === '' && usage.estimated) {
          throw new ErrorEvent({ type: 'failed_answer' });
        }
        if (finishReason === 'failed') throw new EndedAnswer('failed', usage);
        const noWords = given === '' ? noWordsReasons[finishReason] : undefined;
        if (noWords && !(finishReason === 'length' && tools?.hasCalls)) throw new EndedAnswer(noWords, usage);
        yield { type: 'finish', finishReason, ...usage };
        return;
      }
      throw new ErrorEvent({ type: 'unfinished_answer' });
    } catch (caught) {
      signal.throwIfAborted();
      let thrown = caught;
      if (isCut && !(thrown instanceof EndedAnswer)) {
        try {
          yield await cut();
          return;
        } catch (ended) {
          thrown = ended;
        }
      }
      if (tools && isNamelessCall(thrown)) {
        yield tools.nameless();
        yield { type: 'finish', finishReason: 'toolCalls', ...(await estimateUsage(model, request, given + unseen)) };
        return;
      }
      const timedOut = !complete && call.timedOut();
      const refused = tools && !timedOut && given + unseen === '' ? toolRefusalOf(thrown) : undefined;
      if (refused) throw new ToolsRefused(refused);
      const isRead = given + unseen !== '' || (timedOut && settings.isTaken(call.signal));
      const usage = await spentBy(thrown, model, request, isRead ? given + unseen : undefined);
      const beforeFirstChunk = given === '' && !tools?.hasCalls;
      throw failed(thrown, request, { beforeFirstChunk, timedOut, ...(usage && { usage }) });
    } finally {
      call.end(complete);
    }
  }

  /** Sends a request. Repeats it without tools, or without their schemas, if the provider refuses them before any output. */
  async function* askWithTools(request: ModelRequest, call: ModelCall): AsyncGenerator<ModelEvent> {
    let asked = support.adapted(request);
    let refused: ToolRefusal | undefined;
    for (;;) {
      try {
        for await (const event of ask(asked, call)) {
          if (refused) support.learned(refused, request);
          refused = undefined;
          yield event;
        }
        return;
      } catch (error) {
        if (!(error instanceof ToolsRefused)) throw error;
        refused = refused === undefined ? error.refused : 'tools';
        asked = support.without(refused, request);
      }
    }
  }

  return { ...model, stream: (request, call) => (hasTools(request) ? askWithTools : ask)(request, call) };
}

/** Why an answer has no words, by its finish reason. An answer with tool calls is complete. */
const noWordsReasons = {
  stop: 'empty',
  other: 'empty',
  length: 'limitReached',
  contentFilter: 'declined',
  toolCalls: undefined,
} as const;

/**
 * Returns the usage of a failed call. Returns undefined if `written` is undefined, because then the provider has not begun to work on the
 * request, and charges nothing.
 */
async function spentBy(
  thrown: unknown,
  model: EstimatedModel,
  request: ModelRequest,
  written: string | undefined,
): Promise<TokenUsage | undefined> {
  if (thrown instanceof EndedAnswer) return thrown.usage;
  return written === undefined ? undefined : await estimateUsage(model, request, written);
}

async function usageOf(
  model: EstimatedModel,
  request: ModelRequest,
  written: string,
  { inputTokens, outputTokens }: LanguageModelV3Usage,
): Promise<TokenUsage> {
  const tokensIn = countOf(inputTokens.total);
  const tokensOut = countOf(outputTokens.total) ?? (written === '' ? 0 : undefined);
  if (tokensIn === undefined || tokensOut === undefined) {
    const estimated = await estimateUsage(model, request, written);
    return { ...estimated, tokensIn: tokensIn ?? estimated.tokensIn, tokensOut: tokensOut ?? estimated.tokensOut };
  }
  const tokensCached = Math.min(countOf(inputTokens.cacheRead) ?? 0, tokensIn);
  return { tokensIn, tokensCached, tokensOut, estimated: false };
}

/** A token count above this limit is implausible for any call, and counts as missing. */
const maxPlausibleTokens = 10_000_000;
/**
 * No tokenizer has more characters per token on average. An answer (with its thoughts) that has more characters than its token limit allows
 * is cut.
 */
const charactersPerToken = 16;

/** Returns a plausible figure, else undefined. The SDKs report a missing figure as 0, and the real figure is never 0. */
function countOf(figure: number | undefined): number | undefined {
  return Number.isSafeInteger(figure) && figure !== undefined && figure > 0 && figure <= maxPlausibleTokens
    ? figure
    : undefined;
}

const writtenParts = new Set(['text-delta', 'reasoning-delta', 'tool-input-start', 'tool-input-delta', 'tool-call']);

/**
 * Reports whether a part contains a token, shown or not. Bedrock's JSON answers arrive as a whole at the end, so their
 * raw events count too.
 */
function isProgress(part: LanguageModelV3StreamPart): boolean {
  return writtenParts.has(part.type) || rawEventOf(part)?.[0] === 'contentBlockDelta';
}

/**
 * Returns the error in a part, if any. Bedrock's SDK reports the name of an exception only in the raw event. Bedrock's events are binary,
 * so no adapter removes unknown events before the SDK reads them; they are skipped here.
 */
function errorOf(part: LanguageModelV3StreamPart): Error | undefined {
  if (part.type === 'error' && isUnknownDelta(part.error)) return undefined;
  if (part.type === 'error') return part.error instanceof Error ? part.error : new ErrorEvent(part.error);
  const [type, value] = rawEventOf(part) ?? [];
  if (type === undefined || !type.endsWith('Exception')) return undefined;
  return new ErrorEvent({ ...(isJsonObject(value) && { message: value['message'] }), type });
}

const deltasOfAnswer = ['text', 'toolUse'];

/** Reports whether an SDK rejects an event of Bedrock because its delta is of an unknown kind. */
function isUnknownDelta(error: unknown): boolean {
  if (!TypeValidationError.isInstance(error) || !isJsonObject(error.value)) return false;
  const { contentBlockDelta: event } = error.value;
  const delta = isJsonObject(event) ? event['delta'] : undefined;
  return isJsonObject(delta) && deltasOfAnswer.every((name) => !(name in delta));
}

function rawEventOf(part: LanguageModelV3StreamPart): [name: string, value: unknown] | undefined {
  return part.type === 'raw' && isJsonObject(part.rawValue) ? Object.entries(part.rawValue)[0] : undefined;
}
