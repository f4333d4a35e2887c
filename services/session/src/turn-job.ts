import type { JobRun, TenantJob } from '@parley/postgres/jobs/job-types';
import type { PreparedTurn } from './turn-store.ts';

/** A message that is to be answered: one job a turn, its key the session's id, so that a session's turns run in order. */
export interface TurnJob {
  sessionId: number;
  turnId: number;
  /** The id of the request that sent the message, in logs and traces. */
  requestId: string;
}

export const turnKind = 'session.turn';

/** `null`: the turn has ended already, and nothing is left to do. */
export type Prepared = PreparedTurn | null;

export type TurnRun = JobRun<TurnJob, Prepared, TenantJob<TurnJob>>;
