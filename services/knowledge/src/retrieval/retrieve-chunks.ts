import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { between, graphEnum, parseInput, text } from '@parley/kernel/input';
import { requireId } from '@parley/kernel/row-id';
import { z } from 'zod';
import type { KnowledgeChunkPreviewDto, QueryRetrieveChunksArgs, RetrievalMode } from '../generated/schema.ts';
import { type RetrievalPorts, retrieval } from './retrieve.ts';

export const maxQueryCharacters = 10_000;
export const maxTopK = 20;

const question = z.object({
  knowledgeBaseId: z.number(),
  query: text(maxQueryCharacters),
  topK: between(1, maxTopK).default(5),
  mode: graphEnum<RetrievalMode>().default('COSINE'),
});

/**
 * Finds the best chunks of one base.
 * @throws DomainError `notFound` if the base does not exist
 * @throws the errors of `Embedder.embed`
 */
export async function retrieveChunks(
  ports: RetrievalPorts,
  request: TenantRequest,
  { topK, mode, ...asked }: QueryRetrieveChunksArgs,
): Promise<KnowledgeChunkPreviewDto[]> {
  const given = parseInput(question, { ...asked, topK: topK ?? undefined, mode: mode ?? undefined }, '');
  const id = requireId('Knowledge base', given.knowledgeBaseId);
  const [found] = await Promise.all(retrieval(ports, request, given).search([id]));
  if (!found) throw notFound('Knowledge base', id);
  return found;
}
