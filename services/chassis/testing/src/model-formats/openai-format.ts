import type { ChatRequestBody, SentTools } from '../model-answer.ts';
import { type Answering, type ModelFormat, type NumberedCall, sse } from '../model-format.ts';
import { argumentsIn, listIn, objectIn, textIn } from './chat-request.ts';

const done = sse('[DONE]');

/** The format of OpenAI's Chat Completions API. */
export const openaiFormat: ModelFormat = {
  name: 'openai',
  read: (path, body) =>
    path === '/v1/chat/completions'
      ? { request: body as unknown as ChatRequestBody, asTool: false, sent: sentIn(body) }
      : undefined,
  streamType: 'text/event-stream',
  opening: ({ request }) => [chunk(request, { delta: { role: 'assistant', content: '' }, finish_reason: null })],
  // OpenAI's own format has no thoughts. Other servers with this format send them in this field.
  thought: ({ request }, text) => chunk(request, { delta: { reasoning_content: text }, finish_reason: null }),
  delta: ({ request }, content) => chunk(request, { delta: { content }, finish_reason: null }),
  toolCall({ request, signature }, { index, id, name, pieces }) {
    const delta = (call: object) => [
      chunk(request, { delta: { tool_calls: [{ index, ...call }] }, finish_reason: null }),
    ];
    const signed = signature !== undefined &&
      index === 0 && { extra_content: { google: { thought_signature: signature } } };
    return [
      delta({ id, type: 'function', function: { name, arguments: '' }, ...signed }),
      ...pieces.map((text) => delta({ function: { arguments: text } })),
    ];
  },
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

/** Returns an answer that is not streamed. */
export function wholeAnswer(answering: Answering, content: string, calls: NumberedCall[]) {
  const { request, finish } = answering;
  const tool_calls = calls.map(({ id, name, text }) => ({ id, type: 'function', function: { name, arguments: text } }));
  const message = { role: 'assistant', content, ...(calls.length > 0 && { tool_calls }) };
  const choices = [{ index: 0, message, finish_reason: finish }];
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

function sentIn(body: unknown): SentTools {
  const messages = listIn(body, 'messages');
  const calls = messages.flatMap((message) => listIn(message, 'tool_calls'));
  return {
    tools: listIn(body, 'tools').map((tool) => {
      const { name, description, parameters } = objectIn(tool, 'function') ?? {};
      return { name: String(name), ...(typeof description === 'string' && { description }), schema: parameters };
    }),
    calls: calls.map((call) => {
      const { name, arguments: given } = objectIn(call, 'function') ?? {};
      return { id: String(call['id']), name: String(name), arguments: argumentsIn(given) };
    }),
    results: messages
      .filter(({ role }) => role === 'tool')
      .map((message) => ({ id: String(message['tool_call_id']), text: textIn(message['content']) })),
    signatures: calls.flatMap((call) => {
      const signature = objectIn(call, 'extra_content', 'google')?.['thought_signature'];
      return typeof signature === 'string' ? [signature] : [];
    }),
    thoughts: messages.flatMap(({ reasoning_content: text }) => (typeof text === 'string' ? [text] : [])),
  };
}
