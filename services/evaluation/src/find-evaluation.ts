import type { TenantCaller } from '@parley/kernel/caller';
import { type Evaluation, evaluationStore } from './evaluation-store.ts';
import type { Ports } from './ports.ts';

/** Below the limit of one gRPC response. */
const transcriptBytesLimit = 60_000_000;

export function findEvaluation(
  ports: Ports,
  caller: TenantCaller,
  sessionId: number,
  maxTranscriptBytes = transcriptBytesLimit,
): Promise<Evaluation | undefined> {
  const most = Math.max(0, Math.min(maxTranscriptBytes, transcriptBytesLimit));
  return ports.database.transact(caller.tenantId, (db) => evaluationStore(db).findOf(sessionId, most));
}
