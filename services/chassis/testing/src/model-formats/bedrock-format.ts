import { crc32 } from 'node:zlib';
import type { SentTools } from '../model-answer.ts';
import type { Answering, ModelFormat } from '../model-format.ts';
import { chatRequest, listIn, objectIn, objectsIn, stringsIn, textIn } from './chat-request.ts';

const path = /^\/model\/(?<model>[^/]+)\/converse-stream$/u;
const reasons = {
  stop: 'end_turn',
  length: 'max_tokens',
  content_filter: 'guardrail_intervened',
  tool_calls: 'tool_use',
};
/** Content block index of the first call, after the blocks of text and thoughts. */
const firstCallBlock = 2;

/** The format of Amazon Bedrock's Converse API, with its binary event stream. */
export const bedrockFormat: ModelFormat = {
  name: 'bedrock',
  read(from, body) {
    const { model } = path.exec(from)?.groups ?? {};
    if (model === undefined) return undefined;
    const tool = listIn(objectIn(body, 'toolConfig'), 'tools')
      .map((each) => objectIn(each, 'toolSpec'))
      .find((spec) => spec?.['name'] === 'json');
    const native = objectIn(body, 'additionalModelRequestFields', 'output_config', 'format');
    const request = chatRequest({
      model: decodeURIComponent(model),
      system: listIn(body, 'system')
        .map(({ text }) => text)
        .join('\n'),
      messages: listIn(body, 'messages').map(({ role, content }) => ({ role: String(role), content })),
      maxTokens: objectIn(body, 'inferenceConfig')?.['maxTokens'],
      schema: objectIn(tool, 'inputSchema')?.['json'] ?? native?.['schema'],
    });
    return { request, asTool: tool !== undefined, sent: sentIn(body) };
  },
  streamType: 'application/vnd.amazon.eventstream',
  opening: ({ asTool }) => [
    event('messageStart', { role: 'assistant' }),
    ...(asTool
      ? [event('contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't1', name: 'json' } } })]
      : []),
  ],
  thought({ signature }, text) {
    const delta = (reasoningContent: object) =>
      event('contentBlockDelta', { contentBlockIndex: 1, delta: { reasoningContent } });
    if (signature === undefined) return delta({ text });
    return Buffer.concat([delta({ text }), delta({ signature }), event('contentBlockStop', { contentBlockIndex: 1 })]);
  },
  delta: ({ asTool }, text) =>
    event('contentBlockDelta', { contentBlockIndex: 0, delta: asTool ? { toolUse: { input: text } } : { text } }),
  toolCall(_, { index, id: toolUseId, name, pieces }) {
    const contentBlockIndex = firstCallBlock + index;
    return [
      [event('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } })],
      ...pieces.map((input) => [event('contentBlockDelta', { contentBlockIndex, delta: { toolUse: { input } } })]),
      [event('contentBlockStop', { contentBlockIndex })],
    ];
  },
  finish: (answering) => [
    event('contentBlockStop', { contentBlockIndex: 0 }),
    event('messageStop', { stopReason: reasonOf(answering) }),
    event('metadata', { ...(answering.usage && { usage: usageIn(answering) }), metrics: { latencyMs: 1 } }),
  ],
  unfinished: [],
  malformed: frame({ ':message-type': 'event', ':event-type': 'contentBlockDelta' }, '{"delta": '),
  refusal: (status) => ({ message: `Scripted status ${status}` }),
  error(name = 'internalServerException') {
    const headers = { ':message-type': 'exception', ':exception-type': name };
    return frame(headers, JSON.stringify({ message: 'The scripted model broke' }));
  },
};

function event(type: string, body: object): Buffer {
  return frame({ ':message-type': 'event', ':event-type': type }, JSON.stringify(body));
}

function reasonOf({ asTool, finish }: Answering): string {
  return asTool && finish === 'stop' ? 'tool_use' : reasons[finish];
}

function usageIn({ usage = { prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0 } }: Answering) {
  const { prompt_tokens, completion_tokens, cached_tokens } = usage;
  return {
    inputTokens: prompt_tokens - cached_tokens,
    outputTokens: completion_tokens,
    totalTokens: prompt_tokens + completion_tokens,
    ...(cached_tokens > 0 && { cacheReadInputTokens: cached_tokens }),
  };
}

function sentIn(body: unknown): SentTools {
  const blocks = listIn(body, 'messages').flatMap((message) => listIn(message, 'content'));
  const inBlocks = (...path: string[]) => objectsIn(blocks, ...path);
  const thoughts = inBlocks('reasoningContent', 'reasoningText');
  return {
    tools: listIn(objectIn(body, 'toolConfig'), 'tools').map((tool) => {
      const { name, description } = objectIn(tool, 'toolSpec') ?? {};
      const schema = objectIn(tool, 'toolSpec', 'inputSchema', 'json');
      return { name: String(name), ...(typeof description === 'string' && { description }), schema };
    }),
    calls: inBlocks('toolUse').map(({ toolUseId, name, input }) => ({
      id: String(toolUseId),
      name: String(name),
      arguments: input,
    })),
    results: inBlocks('toolResult').map(({ toolUseId, content }) => ({ id: String(toolUseId), text: textIn(content) })),
    signatures: stringsIn(thoughts.map(({ signature }) => signature)),
    thoughts: stringsIn(thoughts.map(({ text }) => text)),
  };
}

/**
 * Makes a frame of `application/vnd.amazon.eventstream`: the lengths, their checksum, headers, payload, and the checksum of the whole
 * frame.
 */
function frame(headers: Record<string, string>, payload: string): Buffer {
  const all = Object.entries({ ...headers, ':content-type': 'application/json' });
  const head = Buffer.concat(all.map(([name, value]) => headerOf(name, value)));
  const body = Buffer.from(payload);
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(8 + 4 + head.length + body.length + 4, 0);
  lengths.writeUInt32BE(head.length, 4);
  const checked = Buffer.concat([lengths, uint32(crc32(lengths)), head, body]);
  return Buffer.concat([checked, uint32(crc32(checked))]);
}

function headerOf(name: string, value: string): Buffer {
  const stringType = 7;
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value));
  return Buffer.concat([
    Buffer.of(Buffer.byteLength(name)),
    Buffer.from(name),
    Buffer.of(stringType),
    length,
    Buffer.from(value),
  ]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
