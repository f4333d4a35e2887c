import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { KnowledgeChunkPreviewDto, QueryRetrieveChunksArgs } from './generated/schema.ts';
import type { Ports } from './ports.ts';

// STUB: replaced by the part that builds it
export async function retrieveChunks(
  _ports: Ports,
  _caller: Caller,
  _query: QueryRetrieveChunksArgs,
  _gone: AbortSignal,
): Promise<KnowledgeChunkPreviewDto[]> {
  throw unavailable('not built yet');
}
