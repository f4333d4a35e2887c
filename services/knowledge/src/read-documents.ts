import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { KnowledgeDocument } from './knowledge.ts';
import type { Ports } from './ports.ts';

/** A document as the schema shows it; `rawText` is empty in lists. */
export type DocumentView = KnowledgeDocument & { rawText: string };

// STUB: replaced by the part that builds it
export async function listKnowledgeDocuments(
  _ports: Pick<Ports, 'database'>,
  _caller: Caller,
  _knowledgeBaseId: number,
): Promise<DocumentView[]> {
  throw unavailable('not built yet');
}

export async function getKnowledgeDocument(_ports: Ports, _caller: Caller, _id: number): Promise<DocumentView> {
  throw unavailable('not built yet');
}
