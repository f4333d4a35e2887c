import { badRequest, type DomainError } from '@parley/chassis/errors';
import { graphError } from '@parley/chassis/graph/graph-errors';

/** What one request's answer may still take of memory. Its subgraphs' answers draw on it together. */
export interface AnswerBudget {
  bytesLeft: number;
  /** How many subgraph answers it was composed of. */
  parts: number;
}

export function answerTooLarge(): DomainError {
  return badRequest('The answer is too large; ask for less at a time', 'ANSWER_TOO_LARGE');
}

/** Writes answers, and in place of one that is too large, that it is. */
export function answerWriter(maxBytes: number) {
  const refusal = `${JSON.stringify({ errors: [graphError(answerTooLarge())] })}\n`;
  return (answer: object): string => {
    let text: string;
    try {
      text = `${JSON.stringify(answer)}\n`;
    } catch (error) {
      if (error instanceof RangeError) return refusal; // longer than any string
      throw error;
    }
    const fits = text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes;
    return fits ? text : refusal;
  };
}

/**
 * Whether a value takes more than so many bytes as JSON, told without writing it: entities that many places share are one
 * object here and many in the text, so that a small answer can become an endless one. Counts low, never high.
 */
export function isLargerThan(value: unknown, maxBytes: number): boolean {
  return remaining(value, maxBytes) < 0;
}

function remaining(value: unknown, bytes: number): number {
  if (typeof value === 'string') return bytes - value.length - 2;
  if (typeof value !== 'object' || value === null) return bytes - 1;
  let left = bytes - 2 + 1; // brackets, and one comma too many below
  if (Array.isArray(value)) {
    if (value.length === 0) return bytes - 2;
    for (const element of value) {
      left = remaining(element, left - 1);
      if (left < 0) return left;
    }
    return left;
  }
  const entries = Object.entries(value).filter(([, element]) => element !== undefined);
  if (entries.length === 0) return bytes - 2;
  for (const [key, element] of entries) {
    left = remaining(element, left - key.length - 4);
    if (left < 0) return left;
  }
  return left;
}
