import { retryAfterMs } from '@parley/kernel/http/retry-after';
import { ModelError, type ModelErrorKind, type ModelErrorOptions } from './model-error.ts';
import { NoResponseError } from './provider-connections.ts';
import { EndedAnswer, ErrorEvent, type ProviderFault, providerFault } from './provider-fault.ts';

export interface FailedCall extends Pick<ModelErrorOptions, 'beforeFirstChunk' | 'usage'> {
  timedOut: boolean;
  origin: string;
  secrets: string[];
  /** Texts of the conversation. A provider's message that quotes one of them is not logged. */
  texts: string[];
}

/** Returns the error of a failed call. Its `cause` is one line for operators. */
export function modelErrorOf(
  thrown: unknown,
  { timedOut, origin, secrets, texts, ...options }: FailedCall,
): ModelError {
  const fault = providerFault(thrown);
  const { kind, transient } = timedOut ? { kind: 'timedOut' as const, transient: true } : kindOf(thrown, fault);
  const wait = retryAfterMs(fault.headers['retry-after']);
  const cause = new Error(`${origin}: ${logLine(thrown, fault, { secrets, texts })}`);
  return new ModelError(kind, { ...options, transient, cause, ...(wait !== undefined && { retryAfterMs: wait }) });
}

function kindOf(thrown: unknown, fault: ProviderFault): { kind: ModelErrorKind; transient: boolean } {
  const chain = causesOf(thrown);
  if (chain.some((error) => error instanceof NoResponseError)) return { kind: 'unreachable', transient: true };
  if (chain.some((error) => codeOf(error) === 'UND_ERR_BODY_TIMEOUT')) return { kind: 'timedOut', transient: true };

  if (thrown instanceof EndedAnswer && (thrown.reason === 'declined' || thrown.reason === 'limitReached')) {
    return { kind: thrown.reason, transient: false };
  }

  const { status } = fault;
  if (isTooLong(fault)) return { kind: 'tooLong', transient: false };
  const kind = named(fault) ?? (status === undefined ? 'failed' : kindOfStatus(status));
  const isServers =
    status === undefined
      ? !(thrown instanceof EndedAnswer) || thrown.reason === 'failed'
      : status >= 500 || status === bedrockModelFailed;
  return { kind, transient: kind === 'rateLimited' || kind === 'timedOut' || (kind === 'failed' && isServers) };
}

/**
 * Providers share no error code for a context overflow, so messages are matched too. A rate limit on tokens (429) is not a context
 * overflow.
 */
function isTooLong({ status, names, message }: ProviderFault): boolean {
  if (status === 413) return true;
  if (status !== undefined && status !== 400 && status !== 422 && status !== 500) return false;
  return names.some((name) => tooLongNames.has(name)) || tooLongWords.test(message);
}

const tooLongNames = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
  'string_above_max_length',
  'request_too_large',
]);
const tooLongWords =
  /context (?:length|size|window)|maximum context|(?:prompt|input|request|messages?) (?:is|are|was|were) too (?:long|large)|input token count|too many (?:input )?tokens|reduce the length|exceeds? .{0,60}(?:tokens|context)/i;

/** The kinds of errors that arrive within a 200 response. The status does not show the kind of such an error. */
const kindsOfNames = new Map<string, ModelErrorKind>(
  Object.entries({
    rate_limit_error: 'rateLimited',
    rate_limit_exceeded: 'rateLimited',
    insufficient_quota: 'rateLimited',
    resource_exhausted: 'rateLimited',
    throttlingexception: 'rateLimited',
    timeout_error: 'timedOut',
    deadline_exceeded: 'timedOut',
    modeltimeoutexception: 'timedOut',
    invalid_api_key: 'refused',
    authentication_error: 'refused',
    permission_error: 'refused',
    unauthenticated: 'refused',
    permission_denied: 'refused',
    accessdeniedexception: 'refused',
    model_not_found: 'unknownModel',
    not_found_error: 'unknownModel',
    not_found: 'unknownModel',
    resourcenotfoundexception: 'unknownModel',
    invalid_request_error: 'badRequest',
    invalid_argument: 'badRequest',
    failed_precondition: 'badRequest',
    validationexception: 'badRequest',
  }),
);

function named({ status, names, message }: ProviderFault): ModelErrorKind | undefined {
  if (status === undefined) return names.map((name) => kindsOfNames.get(name)).find((kind) => kind !== undefined);
  if (status !== 400) return undefined;
  if (names.includes('api_key_invalid')) return 'refused';
  return names.includes('model_not_found') || /model identifier is invalid/iu.test(message)
    ? 'unknownModel'
    : undefined;
}

const bedrockModelFailed = 424;

function kindOfStatus(status: number): ModelErrorKind {
  if (status === 401 || status === 403) return 'refused';
  if (status === 404) return 'unknownModel';
  if (status === 408) return 'timedOut';
  if (status === 429) return 'rateLimited';
  return status >= 400 && status < 500 && status !== bedrockModelFailed ? 'badRequest' : 'failed';
}

type Hidden = Pick<FailedCall, 'secrets' | 'texts'>;

/**
 * Returns one line for operators, without request or answer. The provider's message is included only for the statuses 404, 429 and 5xx,
 * because at other statuses it may describe the request.
 */
function logLine(
  thrown: unknown,
  { status, names, message, parameter }: ProviderFault,
  { secrets, texts }: Hidden,
): string {
  if (status !== undefined || thrown instanceof ErrorEvent || names.length > 0) {
    const hidden = [...texts, ...secrets].map((text) => text.toLowerCase());
    const isGeneral = status === 404 || status === 429 || (status ?? 0) >= 500;
    const said = isGeneral ? redacted(message.slice(0, comparedLength), secrets) : '';
    const parts = [
      status === undefined ? 'error event' : `HTTP ${status}`,
      ...names.filter((name) => !hidden.some((text) => text.includes(name))).map((name) => redacted(name, secrets)),
      parameter === undefined || hidden.some((text) => text.includes(parameter)) ? '' : `parameter ${parameter}`,
      quotes(said.toLowerCase(), hidden) ? '' : said,
    ];
    return parts.filter(Boolean).join(' ').slice(0, 300);
  }
  const network = causesOf(thrown).find((error) => codeOf(error) !== undefined);
  if (network) return redacted(`${codeOf(network)} ${network.message}`, secrets);
  // Messages of parsers quote their input, so only the errors' names are logged.
  return (
    causesOf(thrown)
      .map(({ name }) => name)
      .join(' of ') || 'unknown error'
  );
}

/** Replaces secrets in any letter case, because providers change the case. */
function redacted(text: string, secrets: string[]): string {
  return secrets.reduce((redacted, secret) => redacted.replaceAll(new RegExp(escaped(secret), 'giu'), '[key]'), text);
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');
}

/**
 * Maximum length of the compared part of a message. It limits the cost of comparing the message with the conversation, which is the product
 * of their lengths.
 */
const comparedLength = 2_000;
const quotedLength = 12;

/** Reports whether a message quotes a whole text, or at least 22 consecutive characters of one. */
function quotes(message: string, texts: string[]): boolean {
  const windows = Array.from({ length: Math.ceil(message.length / 10) }, (_, n) =>
    message.slice(n * 10, n * 10 + quotedLength),
  ).filter(({ length }) => length === quotedLength);
  return texts.some(
    (text) => (text.length >= 4 && message.includes(text)) || windows.some((window) => text.includes(window)),
  );
}

function causesOf(thrown: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = thrown; at instanceof Error && chain.length < 8; at = at.cause) chain.push(at);
  return chain;
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
