import type { TenantCaller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Ports } from './ports.ts';

/** A text of a document that is stored already. */
export interface IndexedText {
  documentId: number;
  knowledgeBaseId: number;
  /** What its chunks are embedded with. */
  model: string;
  text: string;
  pageStarts?: readonly number[] | undefined;
}

/** Chunks that are stored beside those that are searched. */
export interface BuiltGeneration {
  generation: number;
  chunkCount: number;
}

// STUB: replaced by the part that builds it
/**
 * Chunks a text, embeds the chunks and stores them as a new generation of its document, outside any transaction and in small ones;
 * `switchGeneration` makes it the one that is searched. What is never switched to is removed by a sweep.
 * @param quota checks the chunk count before anything is embedded or stored
 * @throws DomainError as `Embedder.embed`; `invalid`: quota
 */
export async function buildGeneration(
  _ports: Pick<Ports, 'database' | 'embedder' | 'log'>,
  _caller: TenantCaller,
  _text: IndexedText,
  _options: { signal: AbortSignal; quota?: (chunks: number) => Promise<void> },
): Promise<BuiltGeneration> {
  throw unavailable('not built yet');
}

/**
 * Makes a built generation the one that is searched, deletes the one before, and counts the difference against the plan. The caller
 * has locked the document's row and checked that it is still to be indexed.
 * @throws DomainError `invalid`: the plan's chunks
 */
export async function switchGeneration(
  _db: TenantDb,
  _documentId: number,
  _built: BuiltGeneration,
  _quotas: Quotas,
): Promise<void> {
  throw unavailable('not built yet');
}

/** What the tenant's plan allows. */
export interface Quotas {
  knowledgeBases: number;
  chunks: number;
  storageBytes: number;
}
