import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { outbox } from '@parley/postgres/outbox/outbox';
import { DocumentUploaded } from '@parley/protos/parley/knowledge/v1/events';
import type { KnowledgeDocument } from '../knowledge.ts';

/** One attempt to parse an uploaded file. A result for another version of the document does not count. */
export interface Parse {
  documentId: number;
  version: number;
}

export const watchKind = 'knowledge.watch-parsing';

export interface WatchJob extends DocumentUploaded {
  /** Number of times that the event `document.uploaded.v1` was published for this version. */
  published: number;
}

/** Queues a document that has just become PENDING, or has a new version. @param waitMs see `Ports.parseWaitMs` */
export async function queueParsing(
  db: TenantDb,
  { id: documentId, knowledgeBaseId, version }: Pick<KnowledgeDocument, 'id' | 'knowledgeBaseId' | 'version'>,
  waitMs: number,
): Promise<void> {
  await publishAndWatch(db, { documentId, knowledgeBaseId, version, published: 1 }, waitMs);
}

/**
 * Publishes the event that a document was uploaded, and schedules a job that checks the parse.
 * @param watch the data of the job; its `published` already counts this event
 */
export async function publishAndWatch(db: TenantDb, watch: WatchJob, waitMs: number): Promise<void> {
  await outbox(db).append({
    topic: 'document-uploaded',
    type: 'document.uploaded.v1',
    key: String(watch.documentId),
    data: DocumentUploaded.encode(watch).finish(),
  });
  await jobs(db).append<WatchJob>({ kind: watchKind, key: keyOf(watch), data: watch, delayMs: waitMs });
}

export async function endParsing(db: TenantDb, parse: Parse): Promise<void> {
  await jobs(db).removeQueued(watchKind, keyOf(parse));
}

function keyOf({ documentId, version }: Parse): string {
  return `${documentId} ${version}`;
}
