import { type Caller, inTenant } from '@parley/kernel/caller';
import { baseStore } from './base-store.ts';
import { documentStore } from './document-store.ts';
import type { DocumentView } from './knowledge.ts';
import type { Ports } from './ports.ts';

/** Newest first, without their texts. @throws DomainError `notFound` where there is no such base, or no longer */
export async function listKnowledgeDocuments(
  { database }: Pick<Ports, 'database'>,
  caller: Caller,
  knowledgeBaseId: number,
): Promise<DocumentView[]> {
  const documents = await database.transact(inTenant(caller).tenantId, async (db) => {
    await baseStore(db).get(knowledgeBaseId);
    return documentStore(db).listOfBase(knowledgeBaseId);
  });
  return documents.map((document) => ({ ...document, rawText: '' }));
}

/** @throws DomainError `notFound` also in a deleted base */
export async function getKnowledgeDocument(
  { database }: Pick<Ports, 'database'>,
  caller: Caller,
  id: number,
): Promise<DocumentView> {
  return database.transact(inTenant(caller).tenantId, (db) => documentStore(db).getView(id));
}
