import { measureJson } from '@parley/json-schema/json-size';
import type { Json } from './definition.ts';

export const outputLimits = { maxBytes: 100_000, maxDepth: 32, maxValues: 20_000 };
export const storedLimits = { maxBytes: 1_000_000, maxDepth: 40, maxValues: 200_000 };

const maxTracedCharacters = 4_000;

/**
 * Limits the size of a node's output. A text is cut and marked as cut.
 * @throws Error if any other output is too large, because half of it would have a different meaning
 */
export function boundedOutput(output: Json): Json {
  const { problem } = measureJson(output, outputLimits);
  if (problem === undefined) return output;
  if (typeof output !== 'string') throw new Error(`The output ${problem}`);
  return `${Buffer.from(output)
    .subarray(0, outputLimits.maxBytes - 10)
    .toString()
    .replace(/\uFFFD$/u, '')}…`;
}

/** Returns an output for the trace: the whole output, or the beginning of its JSON. */
export function tracedOutput(output: Json): Json {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return text.length > maxTracedCharacters ? `${text.slice(0, maxTracedCharacters).toWellFormed()}…` : output;
}
