import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { CreateKnowledgeBaseInput } from './generated/schema.ts';
import type { KnowledgeBase } from './knowledge.ts';
import type { Ports } from './ports.ts';

// STUB: replaced by the part that builds it
export async function createKnowledgeBase(
  _ports: Ports,
  _caller: Caller,
  _input: CreateKnowledgeBaseInput,
): Promise<KnowledgeBase> {
  throw unavailable('not built yet');
}
