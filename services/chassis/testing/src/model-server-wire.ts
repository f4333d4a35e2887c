import type { ServerResponse } from 'node:http';
import type { ChatRequestBody, ModelAnswer } from './model-answer.ts';

/** The last event of OpenAI's streams. */
export const doneEvent = 'data: [DONE]\n\n';

/** Splits the text of an answer into deltas. */
export function piecesOf({ text = 'Hello from the model server.', deltas = 'word' }: ModelAnswer): string[] {
  if (Array.isArray(text)) return text;
  if (deltas === 'character') return [...text];
  if (deltas === 'whole') return text === '' ? [] : [text];
  return text.match(/\s*\S+\s*$|\s*\S+|\s+$/gu) ?? [];
}

/** The event that opens a stream: the role, without text. */
export function openingEvent(body: ChatRequestBody): string {
  return chunkEvent(body, [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]);
}

/** One delta of text. */
export function textEvent(body: ChatRequestBody, content: string): string {
  return chunkEvent(body, [{ index: 0, delta: { content }, finish_reason: null }]);
}

/** The last events of a normal answer: the finish reason, and the usage where it is requested. */
export function finishEvents(body: ChatRequestBody, answer: ModelAnswer, pieces: string[]) {
  const finish = answer.ending ?? 'stop';
  const words = (text: string) => text.split(/\s+/u).filter(Boolean).length;
  const prompt = body.messages.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)));
  const figures = answer.usage ?? { prompt_tokens: words(prompt.join(' ')), completion_tokens: words(pieces.join('')) };
  const usage =
    answer.usage === null ? undefined : { ...figures, total_tokens: figures.prompt_tokens + figures.completion_tokens };

  const events = [chunkEvent(body, [{ index: 0, delta: {}, finish_reason: finish }])];
  if (body.stream_options?.include_usage && usage) events.push(chunkEvent(body, [], usage));
  return { finish, usage, events };
}

/** Splits the bytes of an event into packets. */
export function splitBytes(event: string, packets: NonNullable<ModelAnswer['packets']>): Buffer[] {
  const bytes = Buffer.from(event);
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

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function chunkEvent({ model }: ChatRequestBody, choices: unknown[], usage?: unknown): string {
  const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model, choices, usage };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
