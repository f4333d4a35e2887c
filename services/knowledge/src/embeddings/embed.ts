import { randomUUID } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput, rule, text } from '@parley/kernel/input';
import { z } from 'zod';
import type { EmbedUsageDto } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { Embedding } from './embedder.ts';

const maxTexts = 100;
const maxCharacters = 32_000;

const given = z.object({
  texts: z
    .array(text(maxCharacters))
    .check(
      rule(({ length }) => (length >= 1 && length <= maxTexts ? undefined : `must have 1 to ${maxTexts} elements`)),
    ),
});

export interface EmbedResult {
  /** One vector per text, in the order of the texts. */
  vectors: Embedding[];
  usage: EmbedUsageDto;
}

/** @throws the errors of `Embedder.embed` */
export async function embed(
  { embedder }: Pick<Ports, 'embedder'>,
  { caller, signal }: TenantRequest,
  texts: string[],
): Promise<EmbedResult> {
  const input = parseInput(given, { texts }, '');
  const call = { caller, model: embedder.model, callId: randomUUID(), signal };
  const { vectors, tokensIn, costUsdE8 } = await embedder.embed(input.texts, call);
  return {
    vectors,
    usage: { inputTokens: tokensIn, outputTokens: 0, costUsd: Number(costUsdE8) / 1e8 },
  };
}

/** Vectors are serialized in small batches, because a hundred at once would block for milliseconds. */
const vectorsAtOnce = 5;

export async function vectorsAsJson(vectors: readonly Embedding[]): Promise<Buffer> {
  const written: Buffer[] = [];
  for (const [at, vector] of vectors.entries()) {
    if (at % vectorsAtOnce === 0) await nextTick();
    written.push(Buffer.from(`${at === 0 ? '[' : ','}${JSON.stringify(Array.from(vector, shortest))}`));
  }
  return Buffer.concat([...written, Buffer.from(']')]);
}

/** Returns the shortest decimal with the same single-precision value. With the digits of a double, a response of 1 MB would have 1.6 MB. */
function shortest(number: number): number {
  for (let scale = 1e9; scale <= 1e15; scale *= 1e3) {
    const short = Math.round(number * scale) / scale;
    if (Math.fround(short) === number) return short;
  }
  return number;
}
