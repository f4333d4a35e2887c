import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { ConfirmKnowledgeDocumentUploadInput, ConfirmKnowledgeDocumentUploadResult } from './generated/schema.ts';
import type { Ports } from './ports.ts';

// STUB: replaced by the part that builds it
export async function confirmKnowledgeDocumentUpload(
  _ports: Ports,
  _caller: Caller,
  _input: ConfirmKnowledgeDocumentUploadInput,
): Promise<ConfirmKnowledgeDocumentUploadResult> {
  throw unavailable('not built yet');
}
