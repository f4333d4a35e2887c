import { isJsonObject, parseJson } from '@parley/kernel/json';
import { unreachable } from './connector-errors.ts';
import type { Exchange } from './exchange.ts';

/** JSON-RPC code for an internal error of the server. */
const internalError = -32_603;

/** Maximum number of JSON values in one message, because small values take much more time and memory than their bytes suggest. */
const maxValues = 100_000;

/** Parses JSON of a server; undefined if it is invalid. @throws DomainError if it has more than `maxValues` values */
export function parsedMessage(text: string): unknown {
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === quote) at = endOfString(text, at);
    else if (character === comma || character === bracket || character === brace) values += 1;
    if (values > maxValues) throw unreachable(new Error('too many values'));
  }
  return parseJson(text);
}

const [quote, comma, bracket, brace] = [...'",[{'].map((character) => character.charCodeAt(0));

/** Returns the position of the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

/**
 * Extracts the JSON-RPC messages from a single message or a batch, in a form that the SDK's strict schemas accept: removes unknown members,
 * `error: null` beside a result, metadata and the like. Invalid messages are skipped.
 */
export function messagesOf(value: unknown): Record<string, unknown>[] {
  const all: unknown[] = Array.isArray(value) ? value : [value];
  return all.map(messageOf).filter((message) => message !== undefined);
}

function messageOf(value: unknown): Record<string, unknown> | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, method, params, result, error } = value;
  const head = { jsonrpc: '2.0', ...(typeof id === 'string' || typeof id === 'number' ? { id } : {}) };
  if (typeof method === 'string')
    return { ...head, method, ...(isJsonObject(params) ? { params: withoutMeta(params) } : {}) };
  if (isJsonObject(error)) return { ...head, error: errorOf(error) };
  return isJsonObject(result) ? { ...head, result: resultOf(result) } : undefined;
}

function withoutMeta({ _meta, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest;
}

function errorOf({ code, message }: Record<string, unknown>) {
  return {
    code: Number.isSafeInteger(code) ? code : internalError,
    message: typeof message === 'string' ? message : '',
  };
}

/** Reduces the response to `initialize` to its protocol version, the only part that is used. */
function resultOf(given: Record<string, unknown>): Record<string, unknown> {
  const { protocolVersion } = given;
  if (typeof protocolVersion !== 'string') return withoutMeta(given);
  return { protocolVersion, capabilities: {}, serverInfo: { name: 'server', version: '0' } };
}

/** Returns the response for the SDK: with an empty result if the exchange keeps the result itself. */
export function forClient({ kept }: Pick<Exchange, 'kept'>, answer: Record<string, unknown>): Record<string, unknown> {
  if (!kept || kept.result || !isJsonObject(answer.result)) return answer;
  kept.result = answer.result;
  return { ...answer, result: {} };
}

/** Reports whether a message is the response to the request with this id. Some servers return a numeric id as a string. */
export function answers(message: Record<string, unknown>, id: string): boolean {
  return ('result' in message || 'error' in message) && message.id !== undefined && String(message.id) === id;
}
