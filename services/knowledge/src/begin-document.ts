import type { Caller } from '@parley/kernel/caller';
import { documentStore } from './document-store.ts';
import type { KnowledgeDocument } from './knowledge.ts';
import { parserInTenant } from './parser-caller.ts';
import { lockUnparsed, type Parse } from './parsing.ts';
import type { Ports } from './ports.ts';

/** The document is PARSING from now on. A parse that died is begun again. @throws DomainError `notFound`, `forbidden` */
export async function beginDocument({ database }: Ports, caller: Caller, parse: Parse): Promise<KnowledgeDocument> {
  const { tenantId } = parserInTenant(caller);
  return database.transact(tenantId, async (db) => {
    const document = await lockUnparsed(db, parse);
    await documentStore(db).update(document.id, { parseStatus: 'PARSING' });
    return document;
  });
}
