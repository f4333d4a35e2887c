import { notFound } from '@parley/kernel/errors';
import type { TenantDb } from '@parley/postgres/database/types';
import { documentStore } from '../documents/document-store.ts';
import type { KnowledgeDocument } from '../knowledge.ts';
import { endParsing } from './queue-parsing.ts';

export interface Parse {
  documentId: number;
  version: number;
}

export function isParsed({ parsedVersion, version }: KnowledgeDocument): boolean {
  return parsedVersion === version;
}

/** Undefined if this parse is obsolete: its document was deleted, has ended, or was queued again as another parse. */
export async function lockWaiting(db: TenantDb, parse: Parse): Promise<KnowledgeDocument | undefined> {
  const document = await documentStore(db).find(parse.documentId, 'FOR UPDATE');
  return document && waits(document, parse) ? document : undefined;
}

export function waits({ parseStatus, version }: KnowledgeDocument, parse: Parse): boolean {
  return version === parse.version && (parseStatus === 'PENDING' || parseStatus === 'PARSING');
}

/** @throws DomainError `notFound` when nobody waits for its text */
export async function lockUnparsed(db: TenantDb, parse: Parse): Promise<KnowledgeDocument> {
  const document = await lockWaiting(db, parse);
  if (!document || isParsed(document)) throw notFound('Document to parse', parse.documentId);
  return document;
}

/** The caller has locked the document. A text that was not indexed is not shown. */
export async function failParse(db: TenantDb, parse: Parse, reason: string): Promise<void> {
  await documentStore(db).writeText(parse.documentId, { rawText: '', pageStarts: null });
  await documentStore(db).update(parse.documentId, { parseStatus: 'FAILED', parseError: reason });
  await endParsing(db, parse);
}
