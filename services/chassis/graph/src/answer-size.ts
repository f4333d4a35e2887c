import { answerTooLarge } from '@parley/kernel/answer-budget';
import { graphError } from './graph-errors.ts';

/** Serializes answers, and replaces one that is too large by an error. It catches what no budget was charged with. */
export function answerWriter(maxBytes: number) {
  const refusal = `${JSON.stringify({ errors: [graphError(answerTooLarge())] })}\n`;
  return (answer: object): string => {
    if (isLargerThan(answer, maxBytes)) return refusal;
    const text = `${JSON.stringify(answer)}\n`;
    const fits = text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes;
    return fits ? text : refusal;
  };
}

/**
 * Whether a value takes more than `maxBytes` as JSON. Computed without serializing it, because an object that many places share is
 * small in memory and large as JSON. It never overestimates.
 */
export function isLargerThan(value: unknown, maxBytes: number): boolean {
  const rest = [value];
  for (let left = maxBytes; left >= 0; ) {
    const next = rest.pop();
    if (next === undefined) return false;
    if (typeof next === 'string') left -= next.length + 2;
    else if (typeof next !== 'object' || next === null) left -= 1;
    else if (Array.isArray(next)) {
      left -= Math.max(2, next.length + 1); // brackets and commas
      for (const element of next) rest.push(element ?? null);
    } else {
      let between = 2; // braces; then quotes, colon and comma of each name
      for (const [key, element] of Object.entries(next)) {
        if (element === undefined) continue;
        between += key.length + (between === 2 ? 3 : 4);
        rest.push(element);
      }
      left -= between;
    }
  }
  return true;
}
