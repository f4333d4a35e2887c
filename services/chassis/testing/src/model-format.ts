import type { ServerResponse } from 'node:http';
import type { ChatRequestBody, ModelAnswer, ModelUsage, ScriptedToolCall, SentTools } from './model-answer.ts';

export type ModelFormatName = 'openai' | 'anthropic' | 'google' | 'bedrock';

/** A request and the content of its answer. */
export interface Answering {
  request: ChatRequestBody;
  /** Whether the answer is JSON that the format sends as a tool call. */
  asTool: boolean;
  finish: 'stop' | 'length' | 'content_filter' | 'tool_calls';
  signature: string | undefined;
  /** The usage to send with the answer; undefined if the usage is omitted. */
  usage: Required<ModelUsage> | undefined;
}

export interface ReadRequest extends Pick<Answering, 'request' | 'asTool'> {
  sent: SentTools;
}

/** One call of a step, with its index. */
export interface NumberedCall extends Required<Pick<ScriptedToolCall, 'id' | 'name'>> {
  index: number;
  /** The arguments as they are sent. */
  text: string;
  /** The arguments in pieces. */
  pieces: string[];
}

/** One wire format of model providers. Its events are given as the bytes to send. */
export interface ModelFormat {
  name: ModelFormatName;
  /** Returns the request in OpenAI's terms; undefined if the path does not belong to this format. */
  read(path: string, body: Record<string, unknown>): ReadRequest | undefined;
  streamType: string;
  /** Events before the text. */
  opening(answering: Answering): Buffer[];
  /** One delta of thoughts. */
  thought(answering: Answering, text: string): Buffer;
  /** One delta of text. */
  delta(answering: Answering, text: string): Buffer;
  /** The events of one call. Each inner list is sent at once. */
  toolCall(answering: Answering, call: NumberedCall): Buffer[][];
  /** The last events of a normal answer. */
  finish(answering: Answering): Buffer[];
  /** The end of a stream without a finish reason. */
  unfinished: Buffer[];
  malformed: Buffer;
  /** The body of an answer with a status other than 200. */
  refusal(status: number): unknown;
  /** An error event inside a response with status 200. */
  error(name: string | undefined): Buffer;
}

/** Splits the text of an answer into deltas. */
export function piecesOf({ text, toolCalls, ...answer }: ModelAnswer): string[] {
  return splitText(text ?? (toolCalls ? '' : 'Hello from the model server.'), answer);
}

function splitText(text: string | string[], { deltas = 'word' }: ModelAnswer): string[] {
  if (Array.isArray(text)) return text;
  if (deltas === 'character') return [...text];
  if (deltas === 'whole') return text === '' ? [] : [text];
  return text.match(/\s*\S+\s*$|\s*\S+|\s+$/gu) ?? [];
}

/** Returns the calls of an answer. */
export function callsOf({ toolCalls = [], argumentDeltas = 'whole' }: ModelAnswer): NumberedCall[] {
  return toolCalls.map(({ name, arguments: given = {}, argumentsText, id }, index) => {
    const text = argumentsText ?? JSON.stringify(given);
    const pieces = { whole: [text], character: [...text], unit: text.split('') }[argumentDeltas];
    return { index, id: id ?? `call_${index + 1}`, name, text, pieces: text === '' ? [] : pieces };
  });
}

/** Returns the billed usage: the scripted figures, otherwise the number of words. */
export function usageOf({ messages }: ChatRequestBody, { usage }: ModelAnswer, pieces: string[]): Required<ModelUsage> {
  const words = (text: string) => text.split(/\s+/u).filter(Boolean).length;
  const prompt = messages.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)));
  return {
    prompt_tokens: words(prompt.join(' ')),
    completion_tokens: words(pieces.join('')),
    cached_tokens: 0,
    ...usage,
  };
}

/** Splits the bytes of an event into packets. */
export function splitBytes(bytes: Buffer, packets: NonNullable<ModelAnswer['packets']>): Buffer[] {
  if (packets === 'event') return [bytes];
  if (packets === 'byte') return Array.from(bytes, (byte) => Buffer.of(byte));

  const parts: Buffer[] = [];
  let from = 0;
  for (const [at, byte] of bytes.entries()) {
    // 10xxxxxx is a continuation byte, so this splits a character.
    if ((byte & 0xc0) !== 0x80) continue;
    parts.push(bytes.subarray(from, at));
    from = at;
  }
  return [...parts, bytes.subarray(from)];
}

/** Returns the bytes of a server-sent event. */
export function sse(data: unknown, type?: string): Buffer {
  const event = type === undefined ? '' : `event: ${type}\n`;
  return Buffer.from(`${event}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
