import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { KnowledgeBase } from './knowledge.ts';
import type { Ports } from './ports.ts';

// STUB: replaced by the part that builds it
export async function listKnowledgeBases(_ports: Pick<Ports, 'database'>, _caller: Caller): Promise<KnowledgeBase[]> {
  throw unavailable('not built yet');
}
