import { APICallError } from '@ai-sdk/provider';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { TokenUsage } from './model.ts';
import { receivedStatus } from './provider-connections.ts';

export class ErrorEvent extends Error {
  override readonly name = 'ErrorEvent';
  readonly value: unknown;

  constructor(value: unknown) {
    super('The provider sent an error');
    this.value = value;
  }
}

/** Why an answer has no words. `failed`: the model failed, and a retry may succeed. */
export type NoWordsReason = 'empty' | 'failed' | 'declined' | 'limitReached';

/** An answer that ended without text or tool call, or with an error. The provider charges for it. */
export class EndedAnswer extends ErrorEvent {
  readonly reason: NoWordsReason;
  readonly usage: TokenUsage;

  constructor(reason: NoWordsReason, usage: TokenUsage) {
    super({ type: `${reason === 'limitReached' ? 'limit_reached' : reason}_answer` });
    this.reason = reason;
    this.usage = usage;
  }
}

/** What a provider reported about a failure. SDKs keep the parts in different places. */
export interface ProviderFault {
  /** The HTTP status of a refusal; undefined if the answer began with a 2xx status and contains no other status. */
  status: number | undefined;
  /** Codes, types and reasons in lower case, most specific first. */
  names: string[];
  message: string;
  /** The request parameter that the provider refuses; undefined if it names none. */
  parameter: string | undefined;
  headers: Record<string, string | undefined>;
}

const maxUnparsedLength = 10_000;

export function providerFault(thrown: unknown): ProviderFault {
  if (!APICallError.isInstance(thrown)) {
    return faultOf(thrown instanceof ErrorEvent ? [thrown.value] : [], undefined, {});
  }
  const headers = thrown.responseHeaders ?? {};
  const received = Number(headers[receivedStatus] ?? thrown.statusCode);
  const status = received >= 200 && received < 300 ? undefined : received || undefined;
  const { responseBody = '', data } = thrown;
  const unparsed = responseBody.length > maxUnparsedLength ? undefined : parseJson(responseBody);
  return faultOf([data, unparsed], status, headers);
}

/** Reads a fault from a refusal's body alone. */
export function bodyFault(body: string): ProviderFault {
  return faultOf(body.length > maxUnparsedLength ? [] : [parseJson(body)], undefined, {});
}

function faultOf(bodies: unknown[], received: number | undefined, headers: ProviderFault['headers']): ProviderFault {
  const errors = bodies.filter(isJsonObject).map((body) => (isJsonObject(body['error']) ? body['error'] : body));
  const errorType = headers['x-amzn-errortype']?.split(':')[0]; // AWS puts the error's type into a header
  const fields = errors.flatMap((error) => [
    ...reasonsOf(error),
    error['code'],
    error['status'],
    error['type'],
    error['__type'],
  ]);
  const message =
    bodies
      .filter(isJsonObject)
      .flatMap(messagesIn)
      .find((text) => typeof text === 'string') ?? '';
  return {
    status: received ?? fields.map(numberIn).find(isErrorStatus),
    names: [...new Set([errorType, ...fields].filter(isName).map((name) => name.toLowerCase()))],
    message,
    parameter: errors.flatMap(parametersIn).find((name) => /^[a-z][\w.]{0,63}$/u.test(name)),
    headers,
  };
}

/** Returns the messages of an error. FastAPI reports refused fields as a list of problems with their locations. */
function messagesIn({ error, message, detail }: Record<string, unknown>): unknown[] {
  const [problem] = Array.isArray(detail) ? detail.filter(isJsonObject) : [];
  const place = problem && Array.isArray(problem['loc']) ? problem['loc'].join('.') : '';
  const refused = problem && typeof problem['msg'] === 'string' ? `${place}: ${problem['msg']}` : undefined;
  return [isJsonObject(error) ? error['message'] : message, error, detail, refused];
}

/** Returns the refused parameters. In FastAPI's location of a field, the first part is `body`. */
function parametersIn({ param, detail }: Record<string, unknown>): string[] {
  const [problem] = Array.isArray(detail) ? detail.filter(isJsonObject) : [];
  const place = problem && Array.isArray(problem['loc']) ? problem['loc'].slice(1).join('.') : '';
  return [...(typeof param === 'string' ? [param] : []), place];
}

function reasonsOf({ details }: Record<string, unknown>): unknown[] {
  return Array.isArray(details) ? details.filter(isJsonObject).map(({ reason }) => reason) : [];
}

/** Converts a status to a number, because some servers send it as text. */
function numberIn(value: unknown): unknown {
  return typeof value === 'string' && /^\d{3}$/u.test(value) ? Number(value) : value;
}

function isErrorStatus(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value < 600;
}

/** Reports whether a value is a name, which may be logged. Other text, even a single word, may quote the conversation. */
function isName(value: unknown): value is string {
  if (typeof value !== 'string' || !/^[\w.-]{1,64}$/u.test(value)) return false;
  return namePattern.test(value) || plainNames.has(value.toLowerCase());
}

const namePattern = /_|[a-z](?:Error|Exception)$|^\d{1,6}$/u;
const plainNames = new Set([
  'overloaded',
  'timeout',
  'internal',
  'unavailable',
  'unauthenticated',
  'unimplemented',
  'cancelled',
  'aborted',
]);
