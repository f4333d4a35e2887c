import { APICallError } from '@ai-sdk/provider';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import { ModelError, type ModelErrorKind, type ModelErrorOptions } from './model-error.ts';
import { NoResponseError } from './provider-connections.ts';

const isTransient = (status: number) => status === 408 || status === 429 || status >= 500;
/** Responses with these statuses may quote the request, which must not be logged. */
const STATUSES_QUOTING_REQUEST = new Set([400, 413, 422]);

export class ErrorEvent extends Error {
  override readonly name = 'ErrorEvent';
  readonly value: unknown;

  constructor(value: unknown) {
    super('The provider sent an error');
    this.value = value;
  }
}

export function modelErrorOf(
  thrown: unknown,
  origin: string,
  options: Omit<ModelErrorOptions, 'transient' | 'cause'> & { timedOut: boolean },
): ModelError {
  const { kind, transient } = options.timedOut ? { kind: 'timedOut' as const, transient: true } : kindOf(thrown);
  return new ModelError(kind, { ...options, transient, cause: new Error(`${origin}: ${logLine(thrown)}`) });
}

function kindOf(thrown: unknown): { kind: ModelErrorKind; transient: boolean } {
  const chain = causesOf(thrown);
  if (chain.some((error) => error instanceof NoResponseError)) return { kind: 'unreachable', transient: true };
  if (chain.some((error) => codeOf(error) === 'UND_ERR_BODY_TIMEOUT')) return { kind: 'timedOut', transient: true };

  const status = statusOf(thrown);
  if (isTooLong(thrown, status)) return { kind: 'tooLong', transient: false };
  if (status === undefined) return { kind: 'failed', transient: true };
  return { kind: kindOfStatus(status, errorBodyOf(thrown).code), transient: isTransient(status) };
}

/** Providers share no error code for this, so messages are matched too. A rate limit on tokens (429) does not count. */
function isTooLong(thrown: unknown, status: number | undefined): boolean {
  if (status === 413) return true;
  if (status !== undefined && status !== 400 && status !== 422 && status !== 500) return false;
  const { code, type, message } = { ...unparsedErrorOf(thrown), ...errorBodyOf(thrown) };
  if (tooLongCodes.has(String(code)) || tooLongCodes.has(String(type))) return true;
  return typeof message === 'string' && tooLongWords.test(message);
}

/** The error in a response that the SDK could not parse: not in OpenAI's format, or with status 200. */
function unparsedErrorOf(thrown: unknown): ErrorBody {
  if (!APICallError.isInstance(thrown) || (thrown.responseBody?.length ?? 0) > maxUnparsedLength) return {};
  const body = parseJson(thrown.responseBody ?? '');
  const error = isJsonObject(body) && 'error' in body ? body['error'] : body;
  return isJsonObject(error) ? error : {};
}

const maxUnparsedLength = 10_000;

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

/** One line for operators, without request, answer or key. */
function logLine(thrown: unknown): string {
  const status = statusOf(thrown);
  if (status !== undefined || thrown instanceof ErrorEvent) {
    const { type, code, message } = errorBodyOf(thrown);
    const words = STATUSES_QUOTING_REQUEST.has(status ?? 200) ? undefined : message;
    const parts = [status === undefined ? 'error event' : `HTTP ${status}`, type, code, words];
    return parts
      .filter((part) => typeof part === 'string' || typeof part === 'number')
      .join(' ')
      .slice(0, 300);
  }
  const network = causesOf(thrown).find((error) => codeOf(error) !== undefined);
  if (network) return `${codeOf(network)} ${network.message}`;
  // Parser messages quote their input, so only the names are logged.
  return (
    causesOf(thrown)
      .map(({ name }) => name)
      .join(' of ') || 'unknown error'
  );
}

/** The HTTP status of a refusal; undefined for a malformed 2xx response. */
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
  const error = isJsonObject(data) ? data['error'] : undefined;
  return isJsonObject(error) ? error : {};
}

function causesOf(thrown: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = thrown; at instanceof Error && chain.length < 8; at = at.cause) chain.push(at);
  return chain;
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
