import type { TenantCaller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import type { ObjectStore } from '@parley/objects/object-store';
import { outbound } from '@parley/outbound/outbound';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import type { Database } from '@parley/postgres/database/types';
import { GetTenantResponse } from '@parley/protos/parley/identity/v1/identity';
import { type Bound, bound } from '@parley/testing/bound';
import { connectStorage } from '@parley/testing/object-stores';
import { testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { createKnowledgeBase } from '../src/bases/create-knowledge-base.ts';
import { deleteKnowledgeBase } from '../src/bases/delete-knowledge-base.ts';
import { listKnowledgeBases } from '../src/bases/list-knowledge-bases.ts';
import { knowledgeDeclaration } from '../src/declaration.ts';
import { deleteKnowledgeDocument } from '../src/documents/delete-knowledge-document.ts';
import { documentStore } from '../src/documents/document-store.ts';
import { ingestDocument } from '../src/documents/ingest-document.ts';
import { ingestDocumentFromUrl } from '../src/documents/ingest-document-from-url.ts';
import { getKnowledgeDocument, listKnowledgeDocuments } from '../src/documents/read-documents.ts';
import { resyncKnowledgeDocument } from '../src/documents/resync-knowledge-document.ts';
import { updateKnowledgeDocumentText } from '../src/documents/update-knowledge-document-text.ts';
import { dimensions, type Embedder } from '../src/embeddings/embedder.ts';
import { indexJob } from '../src/indexing/index-document.ts';
import { sweepGenerations } from '../src/indexing/sweep-generations.ts';
import type { KnowledgeDocument } from '../src/knowledge.ts';
import { knowledgeSchema } from '../src/knowledge-schema.ts';
import { pageReader } from '../src/pages/page-reader.ts';
import { beginDocument } from '../src/parsing/begin-document.ts';
import { completeDocument } from '../src/parsing/complete-document.ts';
import { failDocument } from '../src/parsing/fail-document.ts';
import { watchJob } from '../src/parsing/watch-parsing.ts';
import type { Ports } from '../src/ports.ts';
import { bytesPerMb, type Quotas } from '../src/quotas/quotas.ts';
import { type Usage, usageStore } from '../src/quotas/usage-store.ts';
import { workQueues } from '../src/retrieval/work-queues.ts';
import { confirmKnowledgeDocumentUpload } from '../src/uploads/confirm-knowledge-document-upload.ts';
import { removeObjectJob } from '../src/uploads/remove-object.ts';
import { requestKnowledgeDocumentUpload } from '../src/uploads/request-knowledge-document-upload.ts';
import { checkJob, settleJob } from '../src/uploads/settle-upload.ts';
import { uploadStore } from '../src/uploads/upload-store.ts';

const useCases = {
  createKnowledgeBase,
  listKnowledgeBases,
  deleteKnowledgeBase,
  listKnowledgeDocuments,
  getKnowledgeDocument,
  deleteKnowledgeDocument,
  ingestDocument,
  ingestDocumentFromUrl,
  updateKnowledgeDocumentText,
  resyncKnowledgeDocument,
  requestKnowledgeDocumentUpload,
  confirmKnowledgeDocumentUpload,
  beginDocument,
  completeDocument,
  failDocument,
};

/** An embedder that a test can delay or make fail. */
export interface ScriptedEmbedder extends Embedder {
  model: string;
  /** Called before each embedding. */
  before: (texts: readonly string[]) => Promise<void> | void;
  /** The texts of all calls. */
  readonly embedded: string[];
}

export interface KnowledgeApp extends Bound<typeof useCases> {
  ports: Ports;
  database: Database;
  embedder: ScriptedEmbedder;
  /** The quotas of every tenant. */
  quotas: Quotas;
  /** Identity's response for every tenant; undefined: the tenant does not exist. */
  identity: { tenant: GetTenantResponse | undefined; before?: () => Promise<void> };
  /** Offset of the database's clock, in ms. */
  clock: { offsetMs: number };
  sweep(): Promise<void>;
  usage(tenantId?: number): Promise<Usage>;
  /** Returns the bytes reserved by open uploads of tenant 1. */
  reservedBytes(): Promise<number>;
  /** Creates a base of tenant 1 and returns its id. */
  base(): Promise<number>;
  /** Stores a text in a base of tenant 1; returns the document's id. */
  document(knowledgeBaseId: number, text: string, fileName?: string): Promise<number>;
  /** Creates a document of tenant 1 as `confirmKnowledgeDocumentUpload` does, with an object of 5 bytes, in the given status. */
  upload(knowledgeBaseId: number, parseStatus?: KnowledgeDocument['parseStatus']): Promise<KnowledgeDocument>;
  /** Returns the texts of the chunks that a search of the base may find, in order. */
  searched(knowledgeBaseId: number): Promise<string[]>;
  /** Counts tenant 1's rows of a table. */
  count(table: string): Promise<number>;
}

export function inTenant(tenantId: number): TenantCaller {
  return { kind: 'user', tenantId, userId: 70 + tenantId, signInId: 's', requestId: 'test' };
}

/** Returns a text about a subject that is split into this many chunks. */
export function textOf(chunks: number, subject = 'subject'): string {
  return Array.from(
    { length: chunks },
    (_, n) => `# Part ${n}\n\n${`All about ${subject}, part ${n}. `.repeat(60)}`,
  ).join('\n\n');
}

/** Creates the use cases of knowledge on the test's own schema, with files, and with a scripted embedder and quotas. */
export async function knowledgeApp(
  t: ExecutionContext,
  options: { objects?: ObjectStore; clock?: KnowledgeApp['clock'] } = {},
): Promise<KnowledgeApp> {
  const clock = options.clock ?? { offsetMs: 0 };
  const database = await testSchema(t, knowledgeSchema, { clockOffsetMs: () => clock.offsetMs });
  for (const { name, types } of knowledgeDeclaration.publishes ?? []) database.registry.topics.set(name, types);
  const storage = await connectStorage();
  t.teardown(() => storage.close());
  const quotas: Quotas = { knowledgeBases: 3, chunks: 5_000, storageBytes: 100 * bytesPerMb };
  const identity: KnowledgeApp['identity'] = { tenant: GetTenantResponse.fromPartial({ tenantId: 1, plan: 'DEV' }) };
  const embedder = scriptedEmbedder();
  const log = createLogger('knowledge', { LOG_LEVEL: 'silent' });
  const ports: Ports = {
    database: wholeRowsDatabase(database),
    objects: options.objects ?? storage.store,
    identity: {
      async getTenant() {
        await identity.before?.();
        return identity.tenant ?? missing('Tenant');
      },
    },
    embedder,
    quotas: async () => ({ ...quotas }),
    queues: workQueues(),
    exactLimit: 20_000,
    pages: pageReader(outbound({ allowlist: ['localhost'], ports: ['1-65535'], log })),
    parseWaitMs: 900_000,
    openUploads: 100,
    failedSearches: { add: () => undefined },
    log,
  };
  const config = knowledgeDeclaration.readConfig({});
  for (const { runner } of [
    removeObjectJob(ports),
    checkJob(ports),
    settleJob(ports),
    watchJob(ports),
    indexJob(ports, config),
  ]) {
    const running = runner({ database, log });
    await running.start();
    t.teardown(() => running.stop());
  }

  const calls = bound(useCases, ports);
  const me = inTenant(1);
  const mine = <T>(work: Parameters<typeof database.transact<T>>[1]) => database.transact(1, work);
  return {
    ...calls,
    ports,
    database,
    embedder,
    quotas,
    identity,
    clock,
    sweep: () => sweepGenerations(ports),
    usage: (tenantId = 1) => database.transact(tenantId, (db) => usageStore(db).read()),
    reservedBytes: () => mine((db) => uploadStore(db).reservedBytes()),
    base: async () => (await calls.createKnowledgeBase(me, { name: 'Returns' })).id,
    async document(knowledgeBaseId, text, fileName = 'a.txt') {
      await calls.ingestDocument(me, { knowledgeBaseId, fileName, text });
      const [newest] = await calls.listKnowledgeDocuments(me, knowledgeBaseId);
      return newest?.id ?? 0;
    },
    async upload(knowledgeBaseId, parseStatus = 'PENDING') {
      const objectKey = `tenants/1/uploads/${crypto.randomUUID()}/a.pdf`;
      const { etag } = await storage.store.put(objectKey, Buffer.from('bytes'), { contentType: 'application/pdf' });
      return mine(async (db) => {
        const document = await documentStore(db).insert({
          knowledgeBaseId,
          origin: 'UPLOAD',
          fileName: 'a.pdf',
          mimeType: 'application/pdf',
          fileSizeBytes: 5,
          storedBytes: 5,
          parseStatus: 'PENDING',
          objectKey,
          objectEtag: etag,
        });
        const parseError = parseStatus === 'FAILED' ? 'The file is empty' : null;
        await documentStore(db).writeStatus(document.id, { parseStatus, parseError });
        await usageStore(db).change({ storedBytes: 5 }, quotas);
        return { ...document, parseStatus, parseError };
      });
    },
    searched: (knowledgeBaseId) =>
      mine(async ({ knex }) => {
        const { rows } = await knex.raw(
          `SELECT content FROM knowledge_chunks c JOIN knowledge_documents d
               ON d.id = c.document_id AND d.generation = c.generation AND d.deleted_at IS NULL
             WHERE c.knowledge_base_id = ? ORDER BY document_id, chunk_index`,
          [knowledgeBaseId],
        );
        return rows.map(({ content }: { content: string }) => content);
      }),
    count: (table) =>
      mine(async ({ knex }) => Number((await knex(table).where({ tenantId: 1 }).count('* as n').first())?.n)),
  };
}

function missing(what: string): never {
  throw notFound(what, 1);
}

function scriptedEmbedder(): ScriptedEmbedder {
  const embedded: string[] = [];
  return {
    model: 'test-embedding',
    before: () => undefined,
    embedded,
    async embed(texts) {
      await this.before(texts);
      embedded.push(...texts);
      return { vectors: texts.map(vectorOf), tokensIn: 0, costUsdE8: 0n };
    },
  };
}

/** Returns a unit vector that depends on the text. */
function vectorOf(text: string): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const [n, char] of [...text].entries()) vector[(char.charCodeAt(0) * 31 + n) % dimensions] = 1;
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
