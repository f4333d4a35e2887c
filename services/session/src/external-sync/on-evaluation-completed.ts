import type { Handler } from '@parley/events/consumer';
import { once } from '@parley/postgres/outbox/inbox';
import type { EvaluationCompleted } from '@parley/protos/parley/evaluation/v1/events';
import type { Ports } from '../ports.ts';
import { appendSync } from './sync-job.ts';

/** Whether anything is posted depends on the agent, which is another service's: the event only appends a job. */
export function onEvaluationCompleted({ database }: Pick<Ports, 'database'>): Handler<EvaluationCompleted> {
  return ({ id, tenantId, data: { sessionId, agentId } }) =>
    database.transact(tenantId, (db) => once(db, 'session', id, () => appendSync(db, { sessionId, agentId })));
}
