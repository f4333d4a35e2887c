import { setImmediate as nextTick } from 'node:timers/promises';
import type { TenantCaller } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { unavailable } from '@parley/kernel/errors';
import type { TenantDb } from '@parley/postgres/database/types';
import { baseStore } from '../bases/base-store.ts';
import { documentStore } from '../documents/document-store.ts';
import type { EmbedCall } from '../embeddings/embedder.ts';
import type { KnowledgeDocument } from '../knowledge.ts';
import type { Ports } from '../ports.ts';
import type { Quotas } from '../quotas/quotas.ts';
import { usageStore } from '../quotas/usage-store.ts';
import { chunkStore, chunksPerStatement, type GenerationOfChunks } from './chunk-store.ts';
import { type Chunk, chunkText } from './chunk-text.ts';
import { chunkSizeFor, passageEmbedder } from './embed-passages.ts';
import { generationStore } from './generation-store.ts';

export interface IndexedText {
  documentId: number;
  /** The name of the document, which is embedded with each passage. */
  name: string;
  knowledgeBaseId: number;
  model: string;
  text: string;
  pageStarts?: readonly number[] | null | undefined;
}

export interface BuiltGeneration {
  generation: number;
  /** The document name that was embedded with the passages. */
  name: string;
  chunkCount: number;
  model: string;
}

type BuildPorts = Pick<Ports, 'database' | 'embedder' | 'log'>;

/**
 * Writes chunks in small transactions, after `checkQuota` has accepted their number. The sweep removes the generation unless
 * `switchGeneration` makes it the searched one.
 * @throws DomainError `invalid` if a quota is exceeded
 * @throws DomainError `notFound` if the document was deleted
 * @throws the errors of `Embedder.embed`
 */
export async function buildGeneration(
  ports: BuildPorts,
  request: TenantRequest,
  indexed: IndexedText,
  checkQuota: (chunks: number) => Promise<void>,
): Promise<BuiltGeneration> {
  const { documentId, text, pageStarts } = indexed;
  const size = chunkSizeFor(ports.embedder, indexed.model);
  const chunks = await chunksOf(text, pageStarts ?? [], size, request.signal);
  await checkQuota(chunks.length);
  const generation = await ports.database.transact(request.caller.tenantId, (db) =>
    generationStore(db).begin(documentId),
  );
  return fillGeneration(ports, request, { ...indexed, generation }, chunks);
}

/** Splits a text into chunks. @param size maximum tokens of a chunk */
export async function chunksOf(
  text: string,
  pageStarts: readonly number[],
  size: number,
  signal: AbortSignal,
): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for (const chunk of chunkText(text, pageStarts, size)) {
    if (chunk) {
      chunks.push(chunk);
    } else {
      await nextTick();
      signal.throwIfAborted();
    }
  }
  return chunks;
}

/**
 * Embeds and stores the chunks of a begun generation, cutting those that are too long for the model. If this fails, the sweep removes the
 * stored chunks.
 */
export async function fillGeneration(
  ports: BuildPorts,
  { caller, signal }: TenantRequest,
  of: GenerationOfChunks & Pick<EmbedCall, 'model' | 'chargedTo'> & { name: string },
  chunks: readonly Chunk[],
): Promise<BuiltGeneration> {
  const { documentId, generation, model, name, chargedTo } = of;
  const callId = `index-${documentId}-${generation}`;
  const { embed, refusedTokens } = passageEmbedder(ports.embedder, { caller, model, name, callId, chargedTo, signal });
  let chunkCount = 0;
  try {
    for (let at = 0; at < chunks.length; at += chunksPerStatement) {
      signal.throwIfAborted();
      const some = chunks.slice(at, at + chunksPerStatement);
      const first = chunkCount;
      const rows = (await embed(some)).map(({ chunk, embedding }, n) => ({
        ...chunk,
        chunkIndex: first + n,
        embedding,
      }));
      chunkCount += rows.length;
      await ports.database.transact(caller.tenantId, async (db) => {
        await generationStore(db).extend(documentId, generation);
        await chunkStore(db).insert(of, rows);
      });
    }
  } catch (error) {
    await discardGeneration(ports, caller, documentId, generation);
    throw error;
  }
  const tokens = refusedTokens();
  if (tokens !== undefined)
    ports.log.warn(
      { model, documentId, tokens },
      'passages cut: the embedding model takes less; set EMBEDDINGS_MAX_TOKENS',
    );
  return { generation, chunkCount, model, name };
}

/**
 * Makes a built generation the searched one. In this transaction the caller has locked base and document (`lockInBase`, or `publish`) and
 * checked that the document still has to be indexed.
 * @throws DomainError `invalid` if the plan has no room for the chunks
 * @throws DomainError `unavailable` if the base now has another model, or if the builder was too slow
 */
export async function switchGeneration(
  db: TenantDb,
  document: KnowledgeDocument,
  built: BuiltGeneration,
  quotas: Quotas | 'unbounded',
): Promise<void> {
  const base = await baseStore(db).get(document.knowledgeBaseId);
  if (base.embeddingModel !== built.model)
    throw unavailable('The embedding model of the knowledge base has just changed; try again');
  const generations = generationStore(db);
  await generations.adopt(document.id, built.generation);
  await generations.release(document.id, document.generation);
  await generations.release(document.id, document.preparedGeneration);
  const { generation, chunkCount, name } = built;
  const searched = { generation, chunkCount, namedGeneration: generation, embeddedName: name };
  await documentStore(db).update(document.id, { ...searched, preparedGeneration: null });
  await usageStore(db).change({ chunks: chunkCount - document.chunkCount }, quotas);
}

/** Lets the sweep delete a generation at once, unless the generation was adopted by a commit whose response was lost. Never rejects. */
export async function discardGeneration(
  { database, log }: Pick<Ports, 'database' | 'log'>,
  { tenantId }: TenantCaller,
  documentId: number,
  generation: number,
): Promise<void> {
  const abandoned = database.transact(tenantId, (db) => generationStore(db).abandon(documentId, generation));
  await abandoned.catch((err: unknown) => log.warn({ err, documentId }, 'new chunks not abandoned; swept later'));
}
