import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { SentTools } from '../model-answer.ts';
import { type Answering, type ModelFormat, sse } from '../model-format.ts';
import { argumentsIn, chatRequest, listIn, objectIn, objectsIn, stringsIn } from './chat-request.ts';

const path = /^\/v1beta\/models\/(?<model>[^/:]+):streamGenerateContent$/u;
const reasons = { stop: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY', tool_calls: 'STOP' };
const statuses: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

/** The format of Google's generateContent API. */
export const googleFormat: ModelFormat = {
  name: 'google',
  read(from, body) {
    const { model } = path.exec(from)?.groups ?? {};
    if (model === undefined) return undefined;
    const { responseMimeType, responseSchema, maxOutputTokens } = objectIn(body, 'generationConfig') ?? {};
    const request = chatRequest({
      model: decodeURIComponent(model),
      system: textOf(objectIn(body, 'systemInstruction')),
      messages: listIn(body, 'contents').map((content) => ({
        role: content['role'] === 'model' ? 'assistant' : String(content['role']),
        content: listIn(content, 'parts'),
      })),
      maxTokens: maxOutputTokens,
      schema: responseMimeType === 'application/json' ? responseSchema : undefined,
    });
    return { request, asTool: false, sent: sentIn(body) };
  },
  streamType: 'text/event-stream',
  opening: () => [],
  thought: (_, text) =>
    sse({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text, thought: true }] } }] }),
  delta: (_, text) => sse({ candidates: [{ index: 0, content: contentOf(text) }] }),
  toolCall({ signature }, { index, id, name, text, pieces }) {
    const signed = index === 0 && signature !== undefined && { thoughtSignature: signature };
    const call = (functionCall: object, more: object | false = false) => [
      sse({ candidates: [{ index: 0, content: { role: 'model', parts: [{ functionCall, ...more }] } }] }),
    ];
    const args = parseJson(text);
    if (!isJsonObject(args) || pieces.length <= 1) return [call({ id, name, args: args ?? text }, signed)];
    return [
      call({ id, name, willContinue: true }, signed),
      ...valuesIn(args, '$').map((value) => call({ partialArgs: [value], willContinue: true })),
      call({}),
    ];
  },
  finish({ finish, usage }) {
    const candidate = { index: 0, content: contentOf(''), finishReason: reasons[finish] };
    return [
      sse({ candidates: [candidate], ...(usage && { usageMetadata: usageIn(usage) }), modelVersion: 'scripted' }),
    ];
  },
  unfinished: [],
  malformed: sse('{"candidates": [{"content": '),
  refusal: (code) => ({
    error: { code, message: `Scripted status ${code}`, status: statuses[code] ?? 'UNKNOWN' },
  }),
  error(name = 'UNAVAILABLE') {
    const code = Number(Object.keys(statuses).find((each) => statuses[Number(each)] === name) ?? 500);
    return sse({ error: { code, message: 'The scripted model broke', status: name } });
  },
};

function usageIn({ prompt_tokens, completion_tokens, cached_tokens }: NonNullable<Answering['usage']>) {
  return {
    promptTokenCount: prompt_tokens,
    candidatesTokenCount: completion_tokens,
    totalTokenCount: prompt_tokens + completion_tokens,
    ...(cached_tokens > 0 && { cachedContentTokenCount: cached_tokens }),
  };
}

function contentOf(text: string) {
  return { role: 'model', parts: text === '' ? [] : [{ text }] };
}

function textOf(content: unknown): string {
  return listIn(content, 'parts')
    .map(({ text }) => text)
    .join('\n');
}

/** Splits arguments as Google streams them: value by value, with strings in two parts. */
function valuesIn(value: unknown, jsonPath: string): object[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => valuesIn(item, `${jsonPath}[${at}]`));
  if (isJsonObject(value)) return Object.entries(value).flatMap(([key, each]) => valuesIn(each, `${jsonPath}.${key}`));
  if (typeof value === 'number') return [{ jsonPath, numberValue: value }];
  if (typeof value === 'boolean') return [{ jsonPath, boolValue: value }];
  if (typeof value !== 'string') return [{ jsonPath, nullValue: 'NULL_VALUE' }];
  const middle = Math.ceil(value.length / 2);
  return [
    { jsonPath, stringValue: value.slice(0, middle), willContinue: true },
    { jsonPath, stringValue: value.slice(middle) },
  ];
}

function sentIn(body: unknown): SentTools {
  const parts = listIn(body, 'contents').flatMap((content) => listIn(content, 'parts'));
  const inParts = (key: string) => objectsIn(parts, key);
  return {
    tools: listIn(body, 'tools')
      .flatMap((tool) => listIn(tool, 'functionDeclarations'))
      .map(({ name, description, parameters }) => ({
        name: String(name),
        ...(typeof description === 'string' && { description }),
        schema: parameters,
      })),
    calls: inParts('functionCall').map(({ id, name, args }) => ({
      id: String(id),
      name: String(name),
      arguments: argumentsIn(args),
    })),
    results: inParts('functionResponse').map((each) => ({
      id: String(each['id']),
      text: String(objectIn(each, 'response')?.['content']),
    })),
    signatures: stringsIn(parts.map(({ thoughtSignature }) => thoughtSignature)),
    thoughts: stringsIn(parts.filter(({ thought }) => thought === true).map(({ text }) => text)),
  };
}
