import { APICallError } from '@ai-sdk/provider';
import { ModelError, type ModelErrorKind, type ModelErrorOptions } from './model-error.ts';
import { NoAnswer } from './provider-connections.ts';

/** Statuses after which the same request may well be answered, here later or elsewhere now. */
const passes = (status: number) => status === 408 || status === 429 || status >= 500;
/** Refusals that tend to quote the request, which must reach no log. */
const QUOTING_STATUSES = new Set([400, 413, 422]);

/** An error that a provider sends in the middle of a stream. */
export class ErrorEvent extends Error {
  override readonly name = 'ErrorEvent';
  readonly value: unknown;

  constructor(value: unknown) {
    super('The provider sent an error');
    this.value = value;
  }
}

/** Turns what the SDK or the connection threw into the port's error; its cause is one line for the log. */
export function modelErrorOf(
  thrown: unknown,
  origin: string,
  options: Omit<ModelErrorOptions, 'passing' | 'cause'> & { timedOut: boolean },
): ModelError {
  const { kind, passing } = options.timedOut ? { kind: 'timedOut' as const, passing: true } : kindOf(thrown);
  return new ModelError(kind, { ...options, passing, cause: new Error(`${origin}: ${lineFor(thrown)}`) });
}

function kindOf(thrown: unknown): { kind: ModelErrorKind; passing: boolean } {
  const chain = causesOf(thrown);
  if (chain.some((error) => error instanceof NoAnswer)) return { kind: 'unreachable', passing: true };
  if (chain.some((error) => codeOf(error) === 'UND_ERR_BODY_TIMEOUT')) return { kind: 'timedOut', passing: true };

  const status = statusOf(thrown);
  if (status === undefined) {
    return isTooLong(thrown, status) ? { kind: 'tooLong', passing: false } : { kind: 'failed', passing: true };
  }
  if (isTooLong(thrown, status)) return { kind: 'tooLong', passing: false };
  return { kind: kindOfStatus(status, errorBodyOf(thrown).code), passing: passes(status) };
}

/**
 * What providers and servers of open models call a request that is longer than the model's context. There is no code that all
 * of them use, so their words count too. A refusal for too many tokens a minute (429) is none.
 */
function isTooLong(thrown: unknown, status: number | undefined): boolean {
  if (status === 413) return true;
  if (status !== undefined && status !== 400 && status !== 422 && status !== 500) return false;
  const { code, type, message } = { ...refusalOf(thrown), ...errorBodyOf(thrown) };
  if (tooLongCodes.has(String(code)) || tooLongCodes.has(String(type))) return true;
  return typeof message === 'string' && tooLongWords.test(message);
}

/** An error that the SDK could not read: another shape than OpenAI's, or in a 200. */
function refusalOf(thrown: unknown): ErrorBody {
  if (!APICallError.isInstance(thrown) || (thrown.responseBody?.length ?? 0) > maxRefusalLength) return {};
  try {
    const body: unknown = JSON.parse(thrown.responseBody ?? '');
    const error = body && typeof body === 'object' && 'error' in body ? body.error : body;
    return error && typeof error === 'object' ? error : {};
  } catch {
    return {};
  }
}

const maxRefusalLength = 10_000;

const tooLongCodes = new Set(['context_length_exceeded', 'exceed_context_size_error', 'string_above_max_length']);
const tooLongWords =
  /context (?:length|size|window)|maximum context|(?:prompt|input|request|messages?) (?:is|are|was|were) too (?:long|large)|input token count|too many (?:input )?tokens|reduce the length|exceeds? .{0,60}(?:tokens|context)/i;

function kindOfStatus(status: number, code: unknown): ModelErrorKind {
  if (status === 401 || status === 403) return 'refused';
  if (status === 404 || code === 'model_not_found') return 'unknownModel';
  if (status === 408) return 'timedOut';
  if (status === 429) return 'rateLimited';
  return status >= 400 && status < 500 ? 'badRequest' : 'failed';
}

/** What an operator needs, without the request, the answer's text or the key. */
function lineFor(thrown: unknown): string {
  const status = statusOf(thrown);
  if (status !== undefined || thrown instanceof ErrorEvent) {
    const { type, code, message } = errorBodyOf(thrown);
    const words = QUOTING_STATUSES.has(status ?? 200) ? undefined : message;
    const parts = [status === undefined ? 'error event' : `HTTP ${status}`, type, code, words];
    return parts
      .filter((part) => typeof part === 'string' || typeof part === 'number')
      .join(' ')
      .slice(0, 300);
  }
  const network = causesOf(thrown).find((error) => codeOf(error) !== undefined);
  if (network) return `${codeOf(network)} ${network.message}`;
  // Messages of parsers quote what they could not parse: the name alone.
  return (
    causesOf(thrown)
      .map(({ name }) => name)
      .join(' of ') || 'unknown error'
  );
}

/** The status of an answer that was a refusal; a broken 200 is none. */
function statusOf(thrown: unknown): number | undefined {
  if (!APICallError.isInstance(thrown) || thrown.statusCode === undefined) return undefined;
  return thrown.statusCode >= 200 && thrown.statusCode < 300 ? undefined : thrown.statusCode;
}

interface ErrorBody {
  type?: unknown;
  code?: unknown;
  message?: unknown;
}

function errorBodyOf(thrown: unknown): ErrorBody {
  const data: unknown =
    thrown instanceof ErrorEvent ? { error: thrown.value } : APICallError.isInstance(thrown) && thrown.data;
  const error = data && typeof data === 'object' && 'error' in data ? data.error : undefined;
  return error && typeof error === 'object' ? error : {};
}

function causesOf(thrown: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = thrown; at instanceof Error && chain.length < 8; at = at.cause) chain.push(at);
  return chain;
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
