import type { TenantRequest } from '@parley/kernel/caller-request';
import { documentStore } from '../documents/document-store.ts';
import type { KnowledgeDocument } from '../knowledge.ts';
import type { Ports } from '../ports.ts';
import { requireParser } from './parser-caller.ts';
import { lockUnparsed, type Parse } from './parsing.ts';

/** The document is PARSING from now on. A parse that died is begun again. @throws DomainError `notFound`, `forbidden` */
export async function beginDocument(
  { database }: Ports,
  { caller }: TenantRequest,
  parse: Parse,
): Promise<KnowledgeDocument> {
  requireParser(caller);
  return database.transact(caller.tenantId, async (db) => {
    const document = await lockUnparsed(db, parse);
    await documentStore(db).update(document.id, { parseStatus: 'PARSING' });
    return document;
  });
}
