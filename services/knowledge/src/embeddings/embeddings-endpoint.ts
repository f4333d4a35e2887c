import { badRequest, unavailable } from '@parley/kernel/errors';
import { retryAfterMs } from '@parley/kernel/http/retry-after';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { ValuesOf } from '@parley/kernel/settings/settings';
import type { Logger } from '@parley/kernel/telemetry/log';
import { backoff } from '@parley/kernel/timing/backoff';
import { sleep } from '@parley/kernel/timing/timers';
import { Pool } from 'undici';
import { dimensions, type Embedding, EmbeddingsMisconfigured } from './embedder.ts';
import type { embeddingSettings } from './embedding-settings.ts';
import { saysTooLong } from './too-long.ts';

export type EndpointSettings = NonNullable<ValuesOf<typeof embeddingSettings>['endpoint']>;

export interface EndpointAnswer {
  vectors: Embedding[];
  /** Number of input tokens; undefined if the endpoint does not report it. */
  tokensIn: number | undefined;
}

export type EmbeddingsEndpoint = ReturnType<typeof embeddingsEndpoint>;

const tooMany = 429;
const passing = new Set([408, 409, 425, tooMany]);
const notImplemented = 501;
const refusingKey = new Set([401, 403]);
const paymentRequired = 402;
/** Error codes of 429 responses after which waiting does not help, as sent by OpenAI and endpoints that are compatible with it. */
const withoutQuota = new Set<unknown>(['insufficient_quota', 'billing_not_active']);
/** Statuses with which an endpoint refuses the texts, for any reason. */
const refusing = new Set([400, 413, 422]);
const attempts = 3;
const longestPauseMs = 20_000;
const pauseAfter = backoff({ firstMs: 400, maxMs: longestPauseMs });
/** Maximum size of a response: enough for the vectors of one request, in which a number takes up to 25 bytes of JSON. */
const maxAnswerBytes = 8 * 1_048_576;

const away = 'The embeddings endpoint does not answer';

/**
 * Creates a client of an OpenAI-compatible `/embeddings` endpoint. Errors contain neither the endpoint's address nor its response; the log
 * has the status.
 */
export function embeddingsEndpoint(
  { url, key, model: ownModel, timeoutMs, callsAtOnce }: EndpointSettings,
  log: Pick<Logger, 'warn' | 'error'>,
) {
  const { origin, pathname, search } = new URL(url);
  const path = `${pathname.replace(/\/$/u, '')}/embeddings${search}`;
  const pool = new Pool(origin, {
    connections: callsAtOnce,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: Math.min(5_000, timeoutMs) },
    keepAliveTimeout: 4_000,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: maxAnswerBytes,
  });
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    'accept-encoding': 'identity',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  };

  async function ask(body: string, signal: AbortSignal | undefined) {
    const timeoutSignal = AbortSignal.timeout(timeoutMs);
    const requestSignal = signal ? AbortSignal.any([signal, timeoutSignal]) : timeoutSignal;
    const {
      statusCode,
      headers: given,
      body: answer,
    } = await pool.request({
      path,
      method: 'POST',
      headers,
      body,
      signal: requestSignal,
    });
    return { status: statusCode, wait: given['retry-after']?.toString(), text: await answer.text() };
  }

  function refusalOf(status: number, model: string, isTooLong: boolean) {
    if (isTooLong)
      return badRequest('The embedding model does not take this text: it is too long', 'EMBEDDING_TOO_LONG');
    if (model !== ownModel && !refusingKey.has(status)) {
      return unavailable(`The embedding model ${model} is no longer served; passages are being embedded anew`);
    }
    if (!refusing.has(status)) return unavailable(away, new EmbeddingsMisconfigured('settings', `status ${status}`));
    return badRequest('The embedding model does not take this text; it may be too long for it', 'EMBEDDING_REFUSED');
  }

  return {
    /**
     * Embeds at most 100 texts.
     * @throws DomainError `invalid` with `EMBEDDING_TOO_LONG` if the model refuses a text because it is too long
     * @throws DomainError `invalid` with `EMBEDDING_REFUSED` if the model refuses a text for an unknown reason
     * @throws DomainError `unavailable` if the endpoint does not answer, or fails for another reason
     */
    async embed(texts: readonly string[], model: string, signal?: AbortSignal): Promise<EndpointAnswer> {
      const body = JSON.stringify({ model, input: texts, dimensions, encoding_format: 'float' });
      for (let attempt = 1; ; attempt += 1) {
        let pauseMs = pauseAfter(attempt);
        try {
          const { status, wait, text } = await ask(body, signal);
          if (status === 200) return read(text, texts.length);
          if (isAccountEmpty(status, text)) {
            log.warn({ status, model }, 'the account at the embeddings endpoint has no credit or quota left');
            throw unavailable(away, new EmbeddingsMisconfigured('account', `status ${status}`));
          }
          log.warn({ status, model, texts: texts.length }, 'the embeddings endpoint refused a request');
          const isTooLong = saysTooLong(status, text);
          if (isTooLong || !isPassing(status)) throw refusalOf(status, model, isTooLong);
          pauseMs = retryAfterMs(wait) ?? pauseMs;
          if (attempt === attempts || pauseMs > longestPauseMs) throw unavailable(away);
        } catch (error) {
          signal?.throwIfAborted();
          if (!isFailure(error)) throw error;
          log.warn({ err: error.name, code: codeOf(error), model }, 'the embeddings endpoint did not answer');
          if (attempt === attempts) throw unavailable(away, error);
        }
        await sleep(pauseMs, signal ?? new AbortController().signal);
        signal?.throwIfAborted();
      }
    },
    close: () => pool.destroy(),
  };
}

/** Reports whether a retry may succeed after this status. True also for statuses of proxies in front of the endpoint, such as 522. */
function isPassing(status: number): boolean {
  return passing.has(status) || (status >= 500 && status !== notImplemented);
}

function isAccountEmpty(status: number, text: string): boolean {
  if (status === paymentRequired) return true;
  const answer = status === tooMany ? parseJson(text) : undefined;
  const { code, type } = isJsonObject(answer) && isJsonObject(answer['error']) ? answer['error'] : {};
  return withoutQuota.has(code) || withoutQuota.has(type);
}

function isFailure(error: unknown): error is Error {
  return error instanceof Error && error.name !== 'DomainError';
}

function codeOf(error: Error): unknown {
  return 'code' in error ? error.code : undefined;
}

function read(text: string, count: number): EndpointAnswer {
  const answer = parseJson(text);
  const data = isJsonObject(answer) ? answer['data'] : undefined;
  const vectors = Array.from<Embedding | undefined>({ length: count });
  if (Array.isArray(data) && data.length === count) {
    for (const [place, each] of data.entries()) {
      const { index = place, embedding } = isJsonObject(each) ? each : {};
      if (typeof index === 'number' && index in vectors) vectors[index] = unitOf(embedding);
    }
  }
  if (!vectors.every((vector) => vector !== undefined)) {
    const what = 'The embeddings endpoint answered with something else than vectors of 768 numbers';
    throw unavailable(what, new EmbeddingsMisconfigured('settings', 'no vectors'));
  }
  const usage = isJsonObject(answer) && isJsonObject(answer['usage']) ? answer['usage'] : {};
  const tokens = usage['prompt_tokens'] ?? usage['total_tokens'];
  const isCount = typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0;
  return { vectors, tokensIn: isCount ? tokens : undefined };
}

function unitOf(numbers: unknown): Embedding | undefined {
  if (!Array.isArray(numbers) || numbers.length !== dimensions) return undefined;
  if (!numbers.every((each) => typeof each === 'number' && Number.isFinite(each))) return undefined;
  const length = Math.sqrt((numbers as number[]).reduce((sum, each) => sum + each * each, 0));
  if (!(length > 0 && Number.isFinite(length))) return undefined;
  return Float32Array.from(numbers as number[], (each) => each / length);
}
