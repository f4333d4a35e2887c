import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { ChatRequestBody } from '../model-answer.ts';

interface Parts {
  model: string;
  system: string;
  messages: ChatRequestBody['messages'];
  maxTokens: unknown;
  /** The JSON schema that the response must match. */
  schema: unknown;
}

/** Makes a request for a stream in OpenAI's terms. */
export function chatRequest({ model, system, messages, maxTokens, schema }: Parts): ChatRequestBody {
  return {
    model,
    messages: system === '' ? messages : [{ role: 'system', content: system }, ...messages],
    stream: true,
    ...(typeof maxTokens === 'number' && { max_tokens: maxTokens }),
    ...(schema !== undefined && {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
    }),
  };
}

export function objectIn(from: unknown, ...path: string[]): Record<string, unknown> | undefined {
  const found = path.reduce((at: unknown, key) => (isJsonObject(at) ? at[key] : undefined), from);
  return isJsonObject(found) ? found : undefined;
}

export function listIn(from: unknown, key: string): Record<string, unknown>[] {
  const list = isJsonObject(from) ? from[key] : undefined;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** Returns the objects at this path in all given objects; objects that have no such path are skipped. */
export function objectsIn(all: Record<string, unknown>[], ...path: string[]): Record<string, unknown>[] {
  return all.map((each) => objectIn(each, ...path)).filter((found) => found !== undefined);
}

/** Returns the text of content in any form. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  return (Array.isArray(content) ? content : [content])
    .map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** Parses arguments that are sent as JSON text; other values are returned unchanged. */
export function argumentsIn(given: unknown): unknown {
  return typeof given === 'string' ? (parseJson(given) ?? given) : given;
}

export function stringsIn(values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string');
}
