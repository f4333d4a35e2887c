import type { CallResult } from '@parley/protos/parley/action/v1/action';
import type { ModelMessage } from '../models/model.ts';

const cutMark = '[The result was longer and is cut here.]';
const doubtMark = 'Whether it took effect is not known. Do not call it again where a second time would do harm.';
/** Failures after which it is unknown whether the call took effect. */
const doubtful = new Set([
  'CALL_INTERRUPTED',
  'CALL_CANCELLED',
  'CALL_FAILED',
  'CONNECTOR_UNREACHABLE',
  'REMOTE_BROKEN',
  'REMOTE_TOO_LARGE',
  'REMOTE_TOO_SLOW',
  'UNAVAILABLE',
]);
/** Results that are longer than this are halved for a model with a short context. */
const shortestBytes = 2_000;
/** Each result keeps at least this many bytes, so that its error stays readable however long the other results are. */
const minBytes = 500;

/** Returns the result of a call that did not reach its tool. */
export function failedResult(errorKind: string, errorMessage: string): CallResult {
  return { errorKind, errorMessage, status: 0, headers: {}, truncated: false, durationMs: 0 };
}

/**
 * Converts a result to text for a model: the error, the HTTP status of an action's response, and the body. If the body was cut, the text
 * mentions this.
 */
export function resultText({ errorKind, errorMessage, status, body, truncated }: CallResult, maxBytes: number): string {
  const lines = [
    ...(errorKind === '' ? [] : [`Error ${errorKind}: ${errorMessage}`]),
    ...(doubtful.has(errorKind) ? [doubtMark] : []),
    ...(status === 0 ? [] : [`HTTP status ${status}`]),
  ];
  const text = body?.value ?? '';
  const shown = cutTo(text, maxBytes);
  if (shown !== '') lines.push(shown);
  if (truncated && shown === text) lines.push(cutMark);
  return lines.length === 0 ? 'Done, without a result.' : lines.join('\n');
}

/** Returns the messages with each long tool result halved; undefined if all results are short. */
export function withShorterResults(messages: readonly ModelMessage[]): ModelMessage[] | undefined {
  let isShorter = false;
  const shortened = messages.map((message): ModelMessage => {
    if (message.role !== 'tool') return message;
    const results = message.results.map((result) => {
      const bytes = Buffer.byteLength(result.text);
      if (bytes <= shortestBytes) return result;
      isShorter = true;
      return { ...result, text: cutTo(result.text, Math.floor(bytes / 2)) };
    });
    return { ...message, results };
  });
  return isShorter ? shortened : undefined;
}

/**
 * Returns the messages with their tool results cut to about `maxBytes` in total. Results of older rounds are cut first, and within a round
 * the longest results.
 */
export function withinBytes(messages: readonly ModelMessage[], maxBytes: number): ModelMessage[] {
  let remaining = maxBytes;
  return messages
    .toReversed()
    .map((message): ModelMessage => {
      if (message.role !== 'tool') return message;
      const bytesEach = Math.max(minBytes, shareOf(remaining, message.results));
      const results = message.results.map((result) => ({ ...result, text: cutTo(result.text, bytesEach) }));
      for (const { text } of results) remaining -= Buffer.byteLength(text);
      return { ...message, results };
    })
    .toReversed();
}

/**
 * Returns the maximum length per result such that all results together take `bytes`. The longer results share the bytes that the short ones
 * do not use.
 */
function shareOf(bytes: number, results: readonly { text: string }[]): number {
  const lengths = results.map(({ text }) => Buffer.byteLength(text)).sort((one, other) => one - other);
  let remaining = bytes;
  for (const [at, length] of lengths.entries()) {
    const share = Math.floor(remaining / (lengths.length - at));
    if (length > share) return share;
    remaining -= length;
  }
  return bytes;
}

/** Cuts a text to at most `maxBytes`, without a partial character at the end. */
function cutTo(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, maxBytes), { stream: true });
  return `${kept}\n${cutMark}`;
}
