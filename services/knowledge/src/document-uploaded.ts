import type { OutgoingEvent } from '@parley/postgres/outbox/outbox';
import { DocumentUploaded } from '@parley/protos/parley/knowledge/v1/events';
import type { KnowledgeDocument } from './knowledge.ts';

/** An uploaded file waits to be parsed. */
export function documentUploaded(
  document: Pick<KnowledgeDocument, 'id' | 'knowledgeBaseId' | 'version'>,
): OutgoingEvent {
  const { id, knowledgeBaseId, version } = document;
  return {
    topic: 'document-uploaded',
    type: 'document.uploaded.v1',
    key: String(id),
    data: DocumentUploaded.encode({ documentId: id, knowledgeBaseId, version }).finish(),
  };
}
