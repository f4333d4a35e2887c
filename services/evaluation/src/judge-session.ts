import { serviceRequest } from '@parley/kernel/caller-request';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { outbox } from '@parley/postgres/outbox/outbox';
import { EvaluationCompleted } from '@parley/protos/parley/evaluation/v1/events';
import { findTenant } from '@parley/service/tenant-facts';
import type { EvaluationConfig } from './config.ts';
import { evaluationStore } from './evaluation-store.ts';
import { judgeOffline } from './judge-offline.ts';
import { judgeWithModel, type ModelOutcome } from './judge-with-model.ts';
import { labelsOf } from './labels.ts';
import type { Ports } from './ports.ts';
import { countStats, readConversation } from './read-conversation.ts';
import { storable } from './transcript.ts';

export interface JudgeSessionJob {
  sessionId: number;
  agentId: number;
}

export const judgeKind = 'evaluation.judge';

/** Maximum size of a sample, in characters. */
const maxSampleCharacters = 4_000_000;
/** Minimum size of a sample, in characters. Between these bounds, a sample holds more characters than fit into the model's context. */
const minSampleCharacters = 200_000;

/**
 * Interval in ms at which a waiting judgement checks whether its tenant is still suspended. An announced change of the tenant causes an
 * additional check (`tenant-change-listener.ts`).
 */
const suspendedRetryMs = 10_000;

export function judgeJob(ports: Ports, { concurrency, perTenant, leaseMs }: EvaluationConfig): JobDeclaration {
  return job<JudgeSessionJob>({
    kind: judgeKind,
    gauge: { name: 'parley_judgements_running', help: 'Judgements under way' },
    concurrency,
    perTenantLimit: perTenant,
    leaseMs,
    // The job must not fail while the session service or the agent service is unavailable.
    retry: 'untilDone',
    // A short grace time: nobody waits for the result, and another process can restart the job.
    stopGraceMs: 1_000,
    handler: (run) => judgeSession(ports, run),
  });
}

/**
 * Stores exactly one evaluation and publishes `evaluation-completed` with it. Waits while the tenant is suspended, and does nothing if the
 * tenant is deleted.
 */
async function judgeSession(ports: Ports, run: JobRun<JudgeSessionJob>): Promise<void> {
  const { data, tenantId, signal, lease } = run;
  const { sessionId, agentId } = data;
  const request = serviceRequest('evaluation', tenantId, `judge-${sessionId}`, signal);
  if (await ports.database.transact(tenantId, (db) => evaluationStore(db).exists(sessionId))) return;

  const tenant = await findTenant(ports.identity, request.caller, signal);
  if (!tenant) return; // a deleted tenant could not read the result
  if (tenant.suspended) return run.retryLater(data, suspendedRetryMs);

  const [{ agent }, model] = await Promise.all([
    ports.agent.getAgent({ agentId }, request),
    ports.agent.describeModel({ agentId }, request),
  ]);
  if (!agent) throw new Error('The agent service answered without an agent');
  const sampleCharacters = Math.min(maxSampleCharacters, Math.max(minSampleCharacters, 8 * model.contextTokens));
  const { transcript, sample, hasUserMessage } = await readConversation(ports, request, {
    sessionId,
    sampleCharacters,
  });
  const labels = labelsOf(agent);
  const outcome: ModelOutcome = hasUserMessage
    ? await judgeWithModel(ports, request, { sessionId, agent, model, labels, sample, attempt: run.attempt })
    : { reason: 'noUserMessage' };
  const judgement =
    'judgement' in outcome
      ? outcome.judgement
      : judgeOffline(await countStats(ports, request, { sessionId, subject: agent.subject }), labels, outcome.reason);

  await ports.database.transact(tenantId, async (db) => {
    const stored = await evaluationStore(db).insertOnce({
      ...judgement,
      sessionId,
      transcript,
      judgedBy: storable('modelId' in outcome ? outcome.modelId : 'OFFLINE'),
    });
    if (stored) {
      const data = EvaluationCompleted.encode({ sessionId, agentId }).finish();
      const key = String(sessionId);
      await outbox(db).append({ topic: 'evaluation-completed', type: 'evaluation.completed.v1', key, data });
    }
    await lease.complete(db);
  });
}
