import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { Ports } from './ports.ts';

// STUB: replaced by the part that builds it
export async function deleteKnowledgeBase(_ports: Ports, _caller: Caller, _id: number): Promise<boolean> {
  throw unavailable('not built yet');
}
