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

/** Why an answer has no words. `failed`: the model did, and the same request may get another answer. */
export type NoWordsReason = 'empty' | 'failed' | 'declined' | 'limitReached';

/** An answer that ended without text or tool call, or failed at its end, for which its provider charges. */
export class EndedAnswer extends ErrorEvent {
  readonly reason: NoWordsReason;
  readonly usage: TokenUsage;

  constructor(reason: NoWordsReason, usage: TokenUsage) {
    super({ type: `${reason === 'limitReached' ? 'limit_reached' : reason}_answer` });
    this.reason = reason;
    this.usage = usage;
  }
}

/** What a provider said about a failure, wherever its SDK keeps it. */
export interface ProviderFault {
  /** The HTTP status of a refusal; undefined where the answer began with a 2xx and says no other. */
  status: number | undefined;
  /** Codes, types and reasons, in lower case, the most exact ones first. */
  names: string[];
  message: string;
  /** The parameter of the request that it refuses; undefined where it names none. */
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

/** Of a refusal's body alone. */
export function bodyFault(body: string): ProviderFault {
  return faultOf(body.length > maxUnparsedLength ? [] : [parseJson(body)], undefined, {});
}

function faultOf(bodies: unknown[], received: number | undefined, headers: ProviderFault['headers']): ProviderFault {
  const errors = bodies.filter(isJsonObject).map((body) => (isJsonObject(body['error']) ? body['error'] : body));
  const errorType = headers['x-amzn-errortype']?.split(':')[0]; // AWS
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
    status: received ?? fields.find(isErrorStatus),
    names: [...new Set([errorType, ...fields].filter(isName).map((name) => name.toLowerCase()))],
    message,
    parameter: errors.flatMap(parametersIn).find((name) => /^[a-z][\w.]{0,63}$/u.test(name)),
    headers,
  };
}

/** Where FastAPI refuses a field, it gives a list of problems with their places. */
function messagesIn({ error, message, detail }: Record<string, unknown>): unknown[] {
  const [problem] = Array.isArray(detail) ? detail.filter(isJsonObject) : [];
  const place = problem && Array.isArray(problem['loc']) ? problem['loc'].join('.') : '';
  const refused = problem && typeof problem['msg'] === 'string' ? `${place}: ${problem['msg']}` : undefined;
  return [isJsonObject(error) ? error['message'] : message, error, detail, refused];
}

/** FastAPI says where a field stands: in the body. */
function parametersIn({ param, detail }: Record<string, unknown>): string[] {
  const [problem] = Array.isArray(detail) ? detail.filter(isJsonObject) : [];
  const place = problem && Array.isArray(problem['loc']) ? problem['loc'].slice(1).join('.') : '';
  return [...(typeof param === 'string' ? [param] : []), place];
}

function reasonsOf({ details }: Record<string, unknown>): unknown[] {
  return Array.isArray(details) ? details.filter(isJsonObject).map(({ reason }) => reason) : [];
}

function isErrorStatus(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value < 600;
}

/** Anything else, such as a single word, may be a quotation. */
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
