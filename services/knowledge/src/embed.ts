import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { EmbedResultDto } from './generated/schema.ts';
import type { Ports } from './ports.ts';

// STUB: replaced by the part that builds it
export async function embed(
  _ports: Ports,
  _caller: Caller,
  _texts: string[],
  _gone: AbortSignal,
): Promise<EmbedResultDto> {
  throw unavailable('not built yet');
}
