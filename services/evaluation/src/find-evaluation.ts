import type { TenantCaller } from '@parley/chassis/caller';
import { type Evaluation, evaluationStore } from './evaluation-store.ts';
import type { Ports } from './ports.ts';

/** The evaluation of one of the caller's sessions, once there is one. */
export function findEvaluation(
  ports: Pick<Ports, 'database'>,
  caller: TenantCaller,
  sessionId: number,
): Promise<Evaluation | undefined> {
  return ports.database.transact(caller.tenantId, (db) => evaluationStore(db).findOf(sessionId));
}
