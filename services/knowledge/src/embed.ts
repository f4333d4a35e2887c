import { randomUUID } from 'node:crypto';
import { type Caller, inTenant } from '@parley/kernel/caller';
import { parseInput, rule, text } from '@parley/kernel/input';
import { z } from 'zod';
import type { EmbedResultDto } from './generated/schema.ts';
import type { Ports } from './ports.ts';

const maxTexts = 100;
const maxCharacters = 32_000;

const given = z.object({
  texts: z
    .array(text(maxCharacters))
    .check(
      rule(({ length }) => (length >= 1 && length <= maxTexts ? undefined : `must have 1 to ${maxTexts} elements`)),
    ),
});

/** @throws DomainError as `Embedder.embed` */
export async function embed(
  { embedder }: Pick<Ports, 'embedder'>,
  caller: Caller,
  texts: string[],
  gone: AbortSignal,
): Promise<EmbedResultDto> {
  const tenantCaller = inTenant(caller);
  const input = parseInput(given, { texts }, '');
  const call = { caller: tenantCaller, model: embedder.model, callId: randomUUID(), signal: gone };
  const { vectors, tokensIn, costUsdE8 } = await embedder.embed(input.texts, call);
  return {
    vectors: vectors.map((vector) => [...vector]),
    usage: { inputTokens: tokensIn, outputTokens: 0, costUsd: Number(costUsdE8) / 1e8 },
  };
}
