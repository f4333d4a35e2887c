import type { TenantRequest } from '@parley/kernel/caller-request';
import { baseStore } from '../bases/base-store.ts';
import type { DocumentView } from '../knowledge.ts';
import type { Ports } from '../ports.ts';
import { documentStore } from './document-store.ts';

/** Lists a base's documents without their texts, newest first. @throws DomainError `notFound` if the base does not exist or was deleted */
export async function listKnowledgeDocuments(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  knowledgeBaseId: number,
): Promise<DocumentView[]> {
  const documents = await database.transact(caller.tenantId, async (db) => {
    await baseStore(db).get(knowledgeBaseId);
    return documentStore(db).listOfBase(knowledgeBaseId);
  });
  return documents.map((document) => ({ ...document, rawText: '' }));
}

/**
 * Returns a document.
 * @throws DomainError `notFound` if the document does not exist, or if its base was deleted
 */
export async function getKnowledgeDocument(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  id: number,
): Promise<DocumentView> {
  return database.transact(caller.tenantId, (db) => documentStore(db).getView(id));
}
