import type { Handler } from '@parley/events/consumer';
import { once } from '@parley/postgres/outbox/inbox';
import type { EvaluationCompleted } from '@parley/protos/parley/evaluation/v1/events';
import type { Ports } from '../ports.ts';
import { appendSync } from './sync-job.ts';

/**
 * Appends a job that may post the evaluation. The job and not this handler decides, because the agent's settings must be read from another
 * service.
 */
export function onEvaluationCompleted({ database }: Pick<Ports, 'database'>): Handler<EvaluationCompleted> {
  return ({ id, tenantId, data: { sessionId, agentId } }) =>
    database.transact(tenantId, (db) => once(db, 'session', id, () => appendSync(db, { sessionId, agentId })));
}
