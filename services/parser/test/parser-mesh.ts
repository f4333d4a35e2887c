import { randomBytes, randomUUID } from 'node:crypto';
import type { Envelope } from '@parley/events/envelope';
import { inProcessEventBus } from '@parley/events/in-process-event-bus';
import { createCallers } from '@parley/kernel/caller';
import { type DomainError, notFound } from '@parley/kernel/errors';
import { createAddresses } from '@parley/kernel/processes/addresses';
import type { ObjectStore } from '@parley/objects/object-store';
import { DocumentUploaded } from '@parley/protos/parley/knowledge/v1/events';
import { KnowledgeServiceDefinition } from '@parley/protos/parley/knowledge/v1/knowledge';
import { eventually } from '@parley/testing/eventually';
import { storageOf } from '@parley/testing/object-stores';
import { serveStub } from '@parley/testing/serve-stub';
import { startService } from '@parley/testing/service-harness';
import { replicaOf, testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { type FileType, fileTypes } from '../src/file-types.ts';
import { parserSchema } from '../src/parser-schema.ts';
import { parser } from '../src/service.ts';

/** A document in the stub of knowledge. */
export interface StubDocument {
  tenantId: number;
  objectKey: string;
  objectEtag: string;
  mimeType: string;
  sizeBytes: bigint;
  /** Number of times that a parser has begun to parse the document. */
  begun: number;
  text?: string;
  pageStarts?: number[];
  warnings?: string[];
  largestPartBytes?: number;
  reason?: string;
}

const mimeTypeOf = (type: FileType) =>
  Object.entries(fileTypes).find(([, each]) => each === type)?.[0] ?? 'application/octet-stream';

/** Starts parser, with an object store that keeps files in a folder, and a stub of knowledge that is called over gRPC. */
export async function parserMesh(t: ExecutionContext, env: Record<string, string> = {}) {
  const database = await testSchema(t, parserSchema);
  const { store } = await storageOf(t);
  const addresses = createAddresses({});
  const callers = createCallers(randomBytes(32));
  const documents = new Map<number, StubDocument>();
  /** Errors that the stub of knowledge throws, by call. */
  const failures: Partial<Record<'begin' | 'complete' | 'fail', DomainError>> = {};

  function own(id: number, tenantId: number | null): StubDocument {
    const document = documents.get(id);
    if (!document || document.tenantId !== tenantId) throw notFound('Document', id);
    return document;
  }

  const served = await serveStub(
    t,
    KnowledgeServiceDefinition,
    {
      async beginDocument({ documentId }, { caller }) {
        const { objectKey, objectEtag, mimeType, sizeBytes } = own(documentId, caller.tenantId);
        own(documentId, caller.tenantId).begun += 1;
        if (failures.begin) throw failures.begin;
        return { objectKey, objectEtag, mimeType, sizeBytes, fileName: 'a file' };
      },
      async completeDocument(parts, { caller }) {
        let document: StubDocument | undefined;
        let text = '';
        const pageStarts: number[] = [];
        const warnings: string[] = [];
        let largestPartBytes = 0;
        for await (const part of parts) {
          document ??= own(part.documentId, caller.tenantId);
          text += part.text;
          pageStarts.push(...part.pageStarts);
          warnings.push(...part.warnings);
          largestPartBytes = Math.max(largestPartBytes, Buffer.byteLength(part.text));
        }
        if (failures.complete) throw failures.complete;
        if (document) Object.assign(document, { text, pageStarts, warnings, largestPartBytes });
        return {};
      },
      async failDocument({ documentId, reason }, { caller }) {
        if (failures.fail) throw failures.fail;
        Object.assign(own(documentId, caller.tenantId), { reason });
        return {};
      },
    },
    { callers, addresses },
  );

  /** Starts another unit of parser, like a second process. `objectStore` replaces the mesh's object store. */
  async function replica(objectStore: ObjectStore = store) {
    const own = await replicaOf(t, database, parserSchema);
    const eventBus = inProcessEventBus({
      deadLetters: { append: () => Promise.reject(new Error('none is expected')) },
    });
    const { unit } = await startService(t, parser, {
      env,
      database: own,
      dependencies: { addresses, callers, eventBus, objectStore },
    });
    return {
      unit,
      eventBus,
      /** Closes the replica's database, as if its process had died. */
      kill: () => own.close(),
    };
  }

  /** Replaces the document's file, as if a new file had been confirmed. */
  async function replace(document: StubDocument, bytes: Uint8Array | string): Promise<void> {
    const { objectKey, mimeType } = document;
    const stored = await store.put(objectKey, Buffer.from(bytes), { contentType: mimeType });
    document.objectEtag = stored.etag;
    document.sizeBytes = BigInt(stored.sizeBytes);
  }

  return {
    store,
    documents,
    failures,
    replica,
    /** Stores a file, and a document that waits for a parser. */
    async upload(id: number, type: FileType, bytes: Uint8Array | string, tenantId = 1): Promise<StubDocument> {
      const objectKey = `tenants/${tenantId}/uploads/${randomUUID()}/file`;
      const mimeType = mimeTypeOf(type);
      const document = { tenantId, objectKey, objectEtag: '', mimeType, sizeBytes: 0n, begun: 0 };
      await replace(document, bytes);
      documents.set(id, document);
      return document;
    },
    replace,
    uploaded: (documentId: number, version = 1): Envelope => ({
      id: randomUUID(),
      topic: 'document-uploaded',
      type: 'document.uploaded.v1',
      source: 'knowledge',
      key: String(documentId),
      tenantId: 1,
      time: new Date(),
      data: DocumentUploaded.encode({ documentId, knowledgeBaseId: 1, version }).finish(),
    }),
    /** Resolves with the document when its text, or its failure, is stored. */
    ended: (id: number) =>
      eventually(
        'the document has ended',
        () => {
          const document = documents.get(id);
          return document?.text !== undefined || document?.reason !== undefined ? document : undefined;
        },
        { timeoutMs: 60_000 },
      ),
    async jobs(): Promise<{ attempt: number; payload: { waits?: number }; state: string }[]> {
      const { rows } = await database.transactShared(({ knex }) =>
        knex.raw('select attempt, payload, state from jobs'),
      );
      return rows;
    },
    /** Stops knowledge. Returns a function that restarts it on the same address. */
    async stopKnowledge() {
      await served.stop();
      return served.restart;
    },
  };
}
