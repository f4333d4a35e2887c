import { type Answering, type ModelFormat, sse } from '../model-format.ts';
import { chatRequest, listIn, objectIn } from './chat-request.ts';

const path = /^\/v1beta\/models\/(?<model>[^/:]+):streamGenerateContent$/u;
const reasons = { stop: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY' };
const statuses: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

/** Google's generateContent. */
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
    return { request, asTool: false };
  },
  streamType: 'text/event-stream',
  opening: () => [],
  thought: (_, text) =>
    sse({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text, thought: true }] } }] }),
  delta: (_, text) => sse({ candidates: [{ index: 0, content: contentOf(text) }] }),
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
