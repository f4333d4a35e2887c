import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { RequestKnowledgeDocumentUploadInput, RequestKnowledgeDocumentUploadResult } from './generated/schema.ts';
import type { Ports } from './ports.ts';

// STUB: replaced by the part that builds it
export async function requestKnowledgeDocumentUpload(
  _ports: Ports,
  _caller: Caller,
  _input: RequestKnowledgeDocumentUploadInput,
): Promise<RequestKnowledgeDocumentUploadResult> {
  throw unavailable('not built yet');
}
