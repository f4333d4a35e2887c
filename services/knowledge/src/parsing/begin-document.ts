import type { TenantRequest } from '@parley/kernel/caller-request';
import type { KnowledgeDocument } from '../knowledge.ts';
import type { Ports } from '../ports.ts';
import { beginParse } from './parse-status.ts';
import { requireParser } from './parser-caller.ts';
import type { Parse } from './queue-parsing.ts';

/**
 * Marks a document as PARSING. A parse whose process died begins again.
 * @throws DomainError `notFound` if the document no longer waits for this parse
 * @throws DomainError `forbidden` if the caller is not the parser
 */
export async function beginDocument(
  { database }: Ports,
  { caller }: TenantRequest,
  parse: Parse,
): Promise<KnowledgeDocument> {
  requireParser(caller);
  return database.transact(caller.tenantId, (db) => beginParse(db, parse));
}
