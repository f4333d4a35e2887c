import { notFound } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import { columnsOf } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { baseStore } from '../bases/base-store.ts';
import {
  type DocumentView,
  type KnowledgeBase,
  type KnowledgeDocument,
  knowledgeDocuments,
  knowledgeDocumentTexts,
} from '../knowledge.ts';

export type NewDocument = Pick<
  KnowledgeDocument,
  'knowledgeBaseId' | 'origin' | 'fileName' | 'mimeType' | 'fileSizeBytes' | 'parseStatus' | 'storedBytes'
> &
  Partial<Pick<KnowledgeDocument, 'objectKey' | 'objectEtag' | 'parseWarnings'>>;

export type DocumentFields = Partial<
  Pick<
    KnowledgeDocument,
    | 'fileSizeBytes'
    | 'generation'
    | 'namedGeneration'
    | 'embeddedName'
    | 'preparedGeneration'
    | 'chunkCount'
    | 'storedBytes'
  >
>;

type StatusFields = Pick<KnowledgeDocument, 'parseStatus'> &
  Partial<Pick<KnowledgeDocument, 'parseError' | 'version' | 'parsedVersion'>>;

interface DocumentInBase {
  document: KnowledgeDocument;
  base: KnowledgeBase;
}

/** A text to store. If there are no warnings, the text contains everything in the file. */
export interface WrittenText extends StoredText {
  parseWarnings?: string[];
}

export interface StoredText {
  rawText: string;
  /** The offsets at which pages begin, in UTF-16 code units; null if there are no pages. */
  pageStarts: number[] | null;
}

const columns = columnsOf(knowledgeDocuments);

/** Stores the tenant's documents. Deleted documents are not found. */
export function documentStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const rows = rowsBy(knex);
  const live = () => knex('knowledge_documents').where({ tenantId }).whereNull('deletedAt');
  const now = knex.raw('parley_now()');

  async function find(id: number, lock: 'FOR UPDATE' | '' = ''): Promise<KnowledgeDocument | undefined> {
    if (parseId(id) === undefined) return undefined;
    const [document] = await rows<KnowledgeDocument>(
      `SELECT ${columns} FROM knowledge_documents
        WHERE tenant_id = :tenantId AND id = :id AND deleted_at IS NULL ${lock}`,
      { tenantId, id },
    );
    return document;
  }

  /** Locks a document, also one in a deleted base. @throws DomainError `notFound` if the document does not exist */
  async function lock(id: number): Promise<KnowledgeDocument> {
    const document = await find(id, 'FOR UPDATE');
    if (!document) throw notFound('Document', id);
    return document;
  }

  async function getInBase(id: number): Promise<DocumentInBase> {
    const document = await find(id);
    const base = document && (await baseStore(db).find(document.knowledgeBaseId));
    if (!base) throw notFound('Document', id);
    return { document, base };
  }

  async function update(id: number, fields: DocumentFields & Partial<StatusFields>): Promise<void> {
    await knex('knowledge_documents')
      .where({ tenantId, id })
      .update({ ...fields, updatedAt: now });
  }

  return {
    find,
    lock,

    getInBase,

    /**
     * Locks the base, then the document, so that neither the base's deletion nor a change of its model can intervene.
     * @throws DomainError `notFound` if the document or its base does not exist
     */
    async lockInBase(id: number): Promise<DocumentInBase> {
      const { base } = await getInBase(id);
      const locked = await baseStore(db).lockShared(base.id);
      return { base: locked, document: await lock(id) };
    },

    /** Returns a document of a live base, with its text if the query selects the text. */
    async getView(id: number): Promise<DocumentView> {
      const isInLiveBase = knex('knowledge_bases')
        .whereRaw('knowledge_bases.tenant_id = knowledge_documents.tenant_id')
        .whereRaw('knowledge_bases.id = knowledge_documents.knowledge_base_id')
        .whereNull('knowledge_bases.deletedAt');
      const query = live()
        .where({ id })
        .whereExists(isInLiveBase)
        .select(knex.raw(columnsWithin(db, knowledgeDocumentTexts)));
      const [document] = parseId(id) === undefined ? [] : await listWithin<DocumentView>(db, query);
      if (!document) throw notFound('Document', id);
      return document;
    },

    /** Lists a base's documents without their texts, newest first. */
    async listOfBase(knowledgeBaseId: number): Promise<KnowledgeDocument[]> {
      const query = live()
        .where({ knowledgeBaseId })
        .orderBy('id', 'desc')
        .select(knex.raw(columnsWithin(db, knowledgeDocuments)));
      return listWithin<KnowledgeDocument>(db, query);
    },

    /** Returns the stored text, whatever the document's status. @throws DomainError `notFound` if the document does not exist */
    async readText(id: number): Promise<StoredText> {
      const [text] = await rows<StoredText>(
        `SELECT raw_text, page_starts FROM knowledge_documents
          WHERE tenant_id = :tenantId AND id = :id AND deleted_at IS NULL`,
        { tenantId, id },
      );
      if (!text) throw notFound('Document', id);
      return text;
    },

    async writeText(id: number, { rawText, pageStarts, parseWarnings = [] }: WrittenText): Promise<void> {
      await rows(
        `UPDATE knowledge_documents SET raw_text = :rawText, page_starts = cast(:pageStarts AS integer[]),
            parse_warnings = cast(:parseWarnings AS text[]), updated_at = parley_now()
          WHERE tenant_id = :tenantId AND id = :id RETURNING id`,
        { tenantId, id, rawText, pageStarts, parseWarnings },
      );
    },

    async insert(document: NewDocument): Promise<KnowledgeDocument> {
      const [inserted] = await knex('knowledge_documents').insert({ ...document, tenantId }, '*');
      return inserted;
    },

    /** Inserts a document that stays invisible (marked as deleted) until `publish`. */
    async insertDraft(document: NewDocument, rawText: string): Promise<KnowledgeDocument> {
      const [draft] = await knex('knowledge_documents').insert({ ...document, rawText, tenantId, deletedAt: now }, '*');
      return draft;
    },

    /** Makes a draft visible to everybody. @throws DomainError `notFound` if the draft was swept */
    async publish(id: number): Promise<KnowledgeDocument> {
      const [document] = await rows<KnowledgeDocument>(
        `UPDATE knowledge_documents SET deleted_at = NULL WHERE ${draftById} RETURNING ${columns}`,
        { tenantId, id },
      );
      if (!document) throw notFound('Document', id);
      return document;
    },

    /** Deletes a draft and its chunks. Does nothing to a published document. */
    async removeDraft(id: number): Promise<void> {
      const [draft] = await rows(`SELECT id FROM knowledge_documents WHERE ${draftById} FOR UPDATE`, { tenantId, id });
      if (!draft) return;
      for (const table of ['knowledge_chunks', 'unsearched_generations'])
        await rows(`DELETE FROM ${table} WHERE tenant_id = :tenantId AND document_id = :id RETURNING generation`, {
          tenantId,
          id,
        });
      await rows(`DELETE FROM knowledge_documents WHERE ${draftById} RETURNING id`, { tenantId, id });
    },

    update: (id: number, fields: DocumentFields): Promise<void> => update(id, fields),

    /** Only for `parse-status.ts`, which makes all changes of a document's status. */
    writeStatus: (id: number, fields: StatusFields): Promise<void> => update(id, fields),

    /**
     * Marks a document as deleted and keeps its row. A trigger clears the text, because the storage of a deleted document is no longer
     * counted.
     */
    async markDeleted(id: number): Promise<void> {
      await live().where({ id }).update({ deletedAt: now, updatedAt: now });
    },
  };
}

/** An SQL condition that matches drafts only: uploads are never drafts, and a published document has a generation. */
const draftById = `tenant_id = :tenantId AND id = :id AND deleted_at IS NOT NULL AND generation = 0 AND origin <> 'UPLOAD'`;
