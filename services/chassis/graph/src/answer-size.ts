import { randomUUID } from 'node:crypto';
import { answerTooLarge } from '@parley/kernel/answer-budget';
import { graphError } from './graph-errors.ts';

/** A part of an answer; the part is already serialized as JSON. */
export class JsonText {
  readonly bytes: Buffer;
  readonly #mark = randomUUID();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  toJSON(): string {
    return this.#mark;
  }

  /** Inserts this value's bytes into the output of `JSON.stringify` for an answer that contains the value once. */
  writtenInto(parts: (string | Buffer)[]): (string | Buffer)[] {
    return parts.flatMap((part) => {
      if (typeof part !== 'string') return [part];
      const [before = '', after] = part.split(`"${this.#mark}"`);
      return after === undefined ? [part] : [before, this.bytes, after];
    });
  }
}

interface AnswerWriter {
  (answer: object): string;
  /** Serializes an answer that contains these JSON texts. */
  (answer: object, texts: readonly JsonText[]): string | Buffer;
}

/** Serializes responses. A response that is too large is replaced by an error, even if its values were not charged to a budget. */
export function answerWriter(maxBytes: number): AnswerWriter {
  const refusal = `${JSON.stringify({ errors: [graphError(answerTooLarge())] })}\n`;
  const write = (answer: object, texts: readonly JsonText[] = []) => {
    if (isLargerThan(answer, maxBytes)) return refusal;
    const text = `${JSON.stringify(answer)}\n`;
    const written = texts.length === 0 ? text : joined(text, texts);
    const fits = written.length * 3 <= maxBytes || Buffer.byteLength(written) <= maxBytes;
    return fits ? written : refusal;
  };
  return write as AnswerWriter;
}

/** Joins the texts as bytes, because a string of all of them would be copied several times. */
function joined(answer: string, texts: readonly JsonText[]): Buffer {
  const parts = texts.reduce<(string | Buffer)[]>((all, each) => each.writtenInto(all), [answer]);
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/**
 * Reports whether a value takes more than `maxBytes` as JSON. The size is computed without serializing, because a value that contains one
 * object many times is small in memory and large as JSON. The size is never overestimated.
 */
export function isLargerThan(value: unknown, maxBytes: number): boolean {
  const rest = [value];
  for (let remaining = maxBytes; remaining >= 0; ) {
    const next = rest.pop();
    if (next === undefined) return false;
    if (typeof next === 'string') remaining -= next.length + 2;
    else if (typeof next !== 'object' || next === null) remaining -= 1;
    else if (next instanceof JsonText) remaining -= next.bytes.length;
    else if (Array.isArray(next)) {
      remaining -= Math.max(2, next.length + 1); // brackets and commas
      for (const element of next) rest.push(element ?? null);
    } else {
      let between = 2; // braces; then quotes, colon and comma of each name
      for (const [key, element] of Object.entries(next)) {
        if (element === undefined) continue;
        between += key.length + (between === 2 ? 3 : 4);
        rest.push(element);
      }
      remaining -= between;
    }
  }
  return true;
}
