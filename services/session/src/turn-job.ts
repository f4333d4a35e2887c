import { JobCancelled } from '@parley/postgres/jobs/job-signals';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import type { PreparedTurn } from './turn-store.ts';

/** The data of a job that runs one turn. The job's key is the session's id, so that the turns of a session run in order. */
export interface TurnJob {
  sessionId: number;
  turnId: number;
  requestId: string;
}

export const turnKind = 'session.turn';

/** Null if the turn has already ended. */
export type Prepared = PreparedTurn | null;

export type TurnRun = JobRun<TurnJob, Prepared>;

/** Reports whether another process runs the turn now. */
export function isHandedOver({ signal }: TurnRun): boolean {
  return signal.aborted && !(signal.reason instanceof JobCancelled);
}
