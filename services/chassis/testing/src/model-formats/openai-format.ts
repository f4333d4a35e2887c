import type { ChatRequestBody } from '../model-answer.ts';
import { type Answering, type ModelFormat, sse } from '../model-format.ts';

const done = sse('[DONE]');

/** OpenAI's chat completions. */
export const openaiFormat: ModelFormat = {
  name: 'openai',
  read: (path, body) =>
    path === '/v1/chat/completions' ? { request: body as unknown as ChatRequestBody, asTool: false } : undefined,
  streamType: 'text/event-stream',
  opening: ({ request }) => [chunk(request, { delta: { role: 'assistant', content: '' }, finish_reason: null })],
  // As the servers that are compatible have it.
  thought: ({ request }, text) => chunk(request, { delta: { reasoning_content: text }, finish_reason: null }),
  delta: ({ request }, content) => chunk(request, { delta: { content }, finish_reason: null }),
  finish(answering) {
    const { request, finish } = answering;
    const last = [chunk(request, { delta: {}, finish_reason: finish })];
    const usage = usageIn(answering);
    if (request.stream_options?.include_usage && usage) last.push(chunk(request, undefined, usage));
    return [...last, done];
  },
  unfinished: [done],
  malformed: sse('{"choices": [{"delta": '),
  refusal: (status) => ({ error: { message: `Scripted status ${status}`, type: 'scripted', code: status } }),
  error: (name) =>
    sse({
      error: { message: 'The scripted model broke', type: name ?? 'server_error', code: name ?? 'broken' },
    }),
};

/** An answer without a stream. */
export function wholeAnswer(answering: Answering, content: string) {
  const { request, finish } = answering;
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }];
  const usage = usageIn(answering);
  return { id: 'chatcmpl-1', object: 'chat.completion', created: 0, model: request.model, choices, usage };
}

function chunk({ model }: ChatRequestBody, choice?: object, usage?: object): Buffer {
  const choices = choice ? [{ index: 0, ...choice }] : [];
  return sse({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model, choices, usage });
}

function usageIn({ usage }: Answering) {
  if (!usage) return undefined;
  const { prompt_tokens, completion_tokens, cached_tokens } = usage;
  const total_tokens = prompt_tokens + completion_tokens;
  const details = cached_tokens > 0 && { prompt_tokens_details: { cached_tokens } };
  return { prompt_tokens, completion_tokens, total_tokens, ...details };
}
