import type { Evaluation } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { Session } from '../session.ts';

/**
 * Returns the object that is posted, or from which a mapping makes the posted object; README.md has an example. It is the same in all
 * attempts of a delivery.
 */
export function payloadOf(session: Session, evaluation: Evaluation, ownerId: number | undefined) {
  const { id, agentId, clientExternalId, metadata, status, startedAt, endedAt } = session;
  const { score, recommendation, summary, strengths, weaknesses, generatedAt, createdAt } = evaluation;
  return {
    type: 'evaluation.completed',
    timestamp: createdAt?.toISOString() ?? null,
    sessionId: id,
    agentId,
    ownerId: ownerId ?? null,
    clientExternalId,
    metadata: metadata ?? null,
    status,
    startedAt: startedAt?.toISOString() ?? null,
    endedAt: endedAt?.toISOString() ?? null,
    evaluationId: evaluation.id,
    score,
    recommendation,
    summary,
    strengths,
    weaknesses,
    generatedAt: generatedAt?.toISOString() ?? null,
  };
}
