import type { SentTools } from '../model-answer.ts';
import { type Answering, type ModelFormat, sse } from '../model-format.ts';
import { chatRequest, listIn, objectIn, stringsIn, textIn } from './chat-request.ts';

const reasons = { stop: 'end_turn', length: 'max_tokens', content_filter: 'refusal', tool_calls: 'tool_use' };

/** Content block index of the first call, after the blocks of text and thoughts. */
const firstCallBlock = 2;

/** The format of Anthropic's Messages API. */
export const anthropicFormat: ModelFormat = {
  name: 'anthropic',
  read(path, body) {
    if (path !== '/v1/messages' || body['stream'] !== true) return undefined;
    const tool = listIn(body, 'tools').find(({ name }) => name === 'json');
    const schema = tool?.['input_schema'] ?? objectIn(body, 'output_config', 'format')?.['schema'];
    const request = chatRequest({
      model: String(body['model']),
      system: listIn(body, 'system')
        .map(({ text }) => text)
        .join('\n'),
      messages: listIn(body, 'messages').map(({ role, content }) => ({ role: String(role), content })),
      maxTokens: body['max_tokens'],
      schema,
    });
    return { request, asTool: tool !== undefined, sent: sentIn(body) };
  },
  streamType: 'text/event-stream',
  opening(answering) {
    const { request, asTool } = answering;
    const { input } = usageIn(answering);
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: request.model, content: [] };
    const block = asTool ? { type: 'tool_use', id: 'toolu_1', name: 'json', input: {} } : { type: 'text', text: '' };
    return [
      event({ type: 'message_start', message: { ...message, usage: { ...input, output_tokens: 1 } } }),
      event({ type: 'content_block_start', index: 0, content_block: block }),
      event({ type: 'ping' }),
    ];
  },
  thought: ({ signature }, thinking) =>
    Buffer.concat([
      event({ type: 'content_block_start', index: 1, content_block: { type: 'thinking', thinking: '' } }),
      event({ type: 'content_block_delta', index: 1, delta: { type: 'thinking_delta', thinking } }),
      ...(signature === undefined
        ? []
        : [event({ type: 'content_block_delta', index: 1, delta: { type: 'signature_delta', signature } })]),
      event({ type: 'content_block_stop', index: 1 }),
    ]),
  delta: ({ asTool }, text) =>
    event({
      type: 'content_block_delta',
      index: 0,
      delta: asTool ? { type: 'input_json_delta', partial_json: text } : { type: 'text_delta', text },
    }),
  toolCall(_, { index: at, id, name, pieces }) {
    const index = firstCallBlock + at;
    const block = { type: 'tool_use', id, name, input: {} };
    return [
      [event({ type: 'content_block_start', index, content_block: block })],
      ...pieces.map((partial_json) => [
        event({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } }),
      ]),
      [event({ type: 'content_block_stop', index })],
    ];
  },
  finish: (answering) => [
    event({ type: 'content_block_stop', index: 0 }),
    event({
      type: 'message_delta',
      delta: { stop_reason: reasonOf(answering), stop_sequence: null },
      usage: { output_tokens: usageIn(answering).output_tokens },
    }),
    event({ type: 'message_stop' }),
  ],
  unfinished: [],
  malformed: sse('{"type": "content_block_delta", ', 'content_block_delta'),
  refusal: (status) => ({ type: 'error', error: { type: 'scripted', message: `Scripted status ${status}` } }),
  error: (name = 'overloaded_error') =>
    event({ type: 'error', error: { type: name, message: 'The scripted model broke' } }),
};

function event(data: { type: string } & Record<string, unknown>): Buffer {
  return sse(data, data.type);
}

function reasonOf({ asTool, finish }: Answering): string {
  return asTool && finish === 'stop' ? 'tool_use' : reasons[finish];
}

function usageIn({ usage = { prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0 } }: Answering) {
  const { prompt_tokens, completion_tokens, cached_tokens } = usage;
  const input = { input_tokens: prompt_tokens - cached_tokens, cache_read_input_tokens: cached_tokens };
  return { input, output_tokens: completion_tokens };
}

function sentIn(body: unknown): SentTools {
  const blocks = listIn(body, 'messages').flatMap((message) => listIn(message, 'content'));
  const ofType = (type: string) => blocks.filter((block) => block['type'] === type);
  return {
    tools: listIn(body, 'tools').map(({ name, description, input_schema }) => ({
      name: String(name),
      ...(typeof description === 'string' && { description }),
      schema: input_schema,
    })),
    calls: ofType('tool_use').map(({ id, name, input }) => ({ id: String(id), name: String(name), arguments: input })),
    results: ofType('tool_result').map(({ tool_use_id, content, is_error }) => ({
      id: String(tool_use_id),
      text: textIn(content),
      isError: is_error === true,
    })),
    signatures: stringsIn(ofType('thinking').map(({ signature }) => signature)),
    thoughts: stringsIn(ofType('thinking').map(({ thinking }) => thinking)),
  };
}
