import type { Handler } from '@parley/events/consumer';
import { jobs } from '@parley/postgres/jobs/jobs';
import { once } from '@parley/postgres/outbox/inbox';
import type { SessionEnded } from '@parley/protos/parley/session/v1/events';
import { type JudgeSessionJob, judgeKind } from './judge-session.ts';
import type { Ports } from './ports.ts';

/**
 * Appends a job to judge the session, because a judgement is slow. The transaction that appends the job also marks the event as handled.
 */
export function onSessionEnded(ports: Ports): Handler<SessionEnded> {
  return ({ id, tenantId, data: { sessionId, agentId } }) =>
    ports.database.transact(tenantId, (db) =>
      once(db, 'evaluation', id, () =>
        jobs(db).append<JudgeSessionJob>({
          kind: judgeKind,
          key: String(sessionId),
          data: { sessionId, agentId },
        }),
      ),
    );
}
