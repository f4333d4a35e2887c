import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { MutationUpdateKnowledgeDocumentTextArgs } from './generated/schema.ts';
import type { Ports } from './ports.ts';

// STUB: replaced by the part that builds it
export async function updateKnowledgeDocumentText(
  _ports: Ports,
  _caller: Caller,
  _input: MutationUpdateKnowledgeDocumentTextArgs,
  _gone: AbortSignal,
): Promise<boolean> {
  throw unavailable('not built yet');
}
