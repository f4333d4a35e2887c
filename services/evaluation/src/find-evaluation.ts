import type { TenantCaller } from '@parley/kernel/caller';
import { type Evaluation, evaluationStore } from './evaluation-store.ts';
import type { Ports } from './ports.ts';

/** What one call between services carries, with room for the rest of the evaluation. */
const mostTranscriptBytes = 60_000_000;

/** The evaluation of one of the caller's sessions, once there is one; its transcript where it is no longer than asked for. */
export function findEvaluation(
  ports: Pick<Ports, 'database'>,
  caller: TenantCaller,
  sessionId: number,
  maxTranscriptBytes = mostTranscriptBytes,
): Promise<Evaluation | undefined> {
  const most = Math.max(0, Math.min(maxTranscriptBytes, mostTranscriptBytes));
  return ports.database.transact(caller.tenantId, (db) => evaluationStore(db).findOf(sessionId, most));
}
