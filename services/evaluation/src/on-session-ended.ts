import type { Handler } from '@parley/events/consumer';
import { jobs } from '@parley/postgres/jobs/jobs';
import { once } from '@parley/postgres/outbox/inbox';
import type { SessionEnded } from '@parley/protos/parley/session/v1/events';
import { type JudgeSession, judgeKind } from './judge-session.ts';
import type { Ports } from './ports.ts';

/** A judgement waits for a model, so the event leaves a job behind; its inbox mark commits together with it. */
export function onSessionEnded(ports: Pick<Ports, 'database'>): Handler<SessionEnded> {
  return ({ id, tenantId, data: { sessionId, agentId } }) =>
    ports.database.transact(tenantId, (db) =>
      once(db, 'evaluation', id, () =>
        jobs(db).append<JudgeSession>({
          kind: judgeKind,
          key: String(sessionId),
          data: { sessionId, agentId },
        }),
      ),
    );
}
