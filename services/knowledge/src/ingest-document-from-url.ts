import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { IngestDocumentFromUrlInput } from './generated/schema.ts';
import type { Ports } from './ports.ts';

// STUB: replaced by the part that builds it
export async function ingestDocumentFromUrl(
  _ports: Ports,
  _caller: Caller,
  _input: IngestDocumentFromUrlInput,
  _gone: AbortSignal,
): Promise<number> {
  throw unavailable('not built yet');
}
