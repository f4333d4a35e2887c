import { badRequest, notFound } from '@parley/kernel/errors';
import type { TenantDb } from '@parley/postgres/database/types';
import { documentStore, type NewDocument, type WrittenText } from '../documents/document-store.ts';
import type { KnowledgeDocument } from '../knowledge.ts';
import { endParsing, type Parse, queueParsing } from './queue-parsing.ts';

/*
 * Every change of a document's status:
 *
 *   insertPending ──► PENDING ── beginParse ──► PARSING ── storeParsed, finishParse ──► READY
 *                        ▲ └──────── failParse ────┴──► FAILED ── replaceText ────────────▲
 *                        └────────── parseAgain ──────────┘
 *
 * A parse that died is begun again, so PENDING and PARSING both wait for the same text. Texts and pages are never parsed:
 * `storeText` inserts them as READY.
 */

type Waiting = Pick<KnowledgeDocument, 'id' | 'parseStatus'>;

/** Inserts an uploaded file and queues it for parsing. @param waitMs see `Ports.parseWaitMs` */
export async function insertPending(
  db: TenantDb,
  upload: Omit<NewDocument, 'parseStatus'>,
  waitMs: number,
): Promise<KnowledgeDocument & { parseStatus: 'PENDING' }> {
  const parseStatus = 'PENDING';
  const document = await documentStore(db).insert({ ...upload, parseStatus });
  await queueParsing(db, document, waitMs);
  return { ...document, parseStatus };
}

/**
 * Queues a FAILED document for parsing again. The caller must have locked the document. Results of earlier parses no longer count.
 * @param waitMs see `Ports.parseWaitMs`
 */
export async function parseAgain(db: TenantDb, document: KnowledgeDocument, waitMs: number): Promise<void> {
  const version = document.version + 1;
  await documentStore(db).writeStatus(document.id, { parseStatus: 'PENDING', parseError: null, version });
  await queueParsing(db, { ...document, version }, waitMs);
}

/** Marks a document as PARSING. @throws DomainError `notFound` if the document no longer waits for this parse */
export async function beginParse(db: TenantDb, parse: Parse): Promise<KnowledgeDocument> {
  const document = await lockUnparsed(db, parse);
  await documentStore(db).writeStatus(document.id, { parseStatus: 'PARSING' });
  return document;
}

/**
 * Stores the parsed text, which stays hidden until `finishParse`.
 * @throws DomainError `notFound` if the document no longer waits for this parse
 */
export async function storeParsed(db: TenantDb, parse: Parse, text: WrittenText): Promise<void> {
  const { id, version } = await lockUnparsed(db, parse);
  await documentStore(db).writeText(id, text);
  await documentStore(db).writeStatus(id, { parseStatus: 'PARSING', parsedVersion: version });
}

/** Marks a document as READY. The caller must have locked the document and indexed its text. */
export async function finishParse(db: TenantDb, parse: Parse): Promise<void> {
  await documentStore(db).writeStatus(parse.documentId, { parseStatus: 'READY' });
  await endParsing(db, parse);
}

/** Marks a document as FAILED. The caller must have locked it. Its text is cleared, because a text that was not indexed is not shown. */
export async function failParse(db: TenantDb, parse: Parse, reason: string): Promise<void> {
  await documentStore(db).writeText(parse.documentId, { rawText: '', pageStarts: null });
  await documentStore(db).writeStatus(parse.documentId, { parseStatus: 'FAILED', parseError: reason });
  await endParsing(db, parse);
}

/** Replaces a document's text. The caller must have locked the document. @throws DomainError `invalid` while its file is being parsed */
export async function replaceText(db: TenantDb, document: KnowledgeDocument, text: string): Promise<void> {
  refuseWhileParsing(document);
  await documentStore(db).writeText(document.id, { rawText: text, pageStarts: null });
  await documentStore(db).writeStatus(document.id, { parseStatus: 'READY', parseError: null });
}

/**
 * Locks the document of a parse. Returns undefined if this parse is obsolete: the document was deleted, has been parsed or has failed, or
 * was queued again as another parse.
 */
export async function lockWaiting(db: TenantDb, parse: Parse): Promise<KnowledgeDocument | undefined> {
  const document = await documentStore(db).find(parse.documentId, 'FOR UPDATE');
  return document && waits(document, parse) ? document : undefined;
}

/** Locks a document that waits for its text. @throws DomainError `notFound` if the document no longer waits for this parse */
export async function lockUnparsed(db: TenantDb, parse: Parse): Promise<KnowledgeDocument> {
  const document = await lockWaiting(db, parse);
  if (!document || isParsed(document)) throw notFound('Document to parse', parse.documentId);
  return document;
}

export function waits(document: KnowledgeDocument, parse: Parse): boolean {
  return document.version === parse.version && isParsing(document);
}

export function isParsed({ parsedVersion, version }: KnowledgeDocument): boolean {
  return parsedVersion === version;
}

/** @throws DomainError `invalid` while the document's file is being parsed, because its text is not stored yet */
export function refuseWhileParsing(document: Waiting): void {
  const { id, parseStatus } = document;
  if (isParsing(document)) throw badRequest(`Document ${id} is ${parseStatus}; wait until it is READY or FAILED`);
}

function isParsing({ parseStatus }: Waiting): boolean {
  return parseStatus === 'PENDING' || parseStatus === 'PARSING';
}
