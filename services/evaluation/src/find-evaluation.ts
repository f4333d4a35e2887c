import type { TenantRequest } from '@parley/kernel/caller-request';
import { type Evaluation, evaluationStore } from './evaluation-store.ts';
import type { Ports } from './ports.ts';

/** Maximum size of a returned transcript in bytes, below the maximum size of a gRPC response. */
const transcriptBytesLimit = 60_000_000;

export function findEvaluation(
  ports: Ports,
  { caller }: TenantRequest,
  {
    sessionId,
    maxTranscriptBytes = transcriptBytesLimit,
  }: { sessionId: number; maxTranscriptBytes?: number | undefined },
): Promise<Evaluation | undefined> {
  const maxBytes = Math.max(0, Math.min(maxTranscriptBytes, transcriptBytesLimit));
  return ports.database.transact(caller.tenantId, (db) => evaluationStore(db).findOf(sessionId, maxBytes));
}
