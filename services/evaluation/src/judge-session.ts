import { serviceCaller, type TenantCaller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun, TenantJob } from '@parley/postgres/jobs/job-types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { GetTenantResponse } from '@parley/protos/parley/identity/v1/identity';
import { type Asked, askModel } from './ask-model.ts';
import type { EvaluationConfig } from './config.ts';
import { evaluationStore } from './evaluation-store.ts';
import { countConversation, gatherConversation } from './gather-conversation.ts';
import { labelsOf } from './labels.ts';
import { judgeOffline } from './offline-judge.ts';
import type { Ports } from './ports.ts';
import { storable } from './transcript.ts';

/** The job that a session's end leaves behind. */
export interface JudgeSession {
  sessionId: number;
  agentId: number;
}

export const judgeKind = 'evaluation.judge';

/** What is kept of a conversation for a prompt, in characters: more than fits into the model's context, and no more than this. */
const mostOfSample = 4_000_000;
const leastOfSample = 200_000;

/** How often a judgement looks whether its tenant is suspended still. An announcement hastens it (`tenant-watch.ts`). */
const whileSuspendedMs = 10_000;

/** Judgements: one job for each session that has ended. */
export function judgeJob(ports: Ports, { concurrency, perTenant, leaseMs }: EvaluationConfig): JobDeclaration {
  return job<JudgeSession>({
    kind: judgeKind,
    gauge: { name: 'parley_judgements_running', help: 'Judgements under way' },
    concurrency,
    perTenantLimit: perTenant,
    leaseMs,
    // Session or agent being away is no fault of the session's: it stays due until they are back.
    maxAttempts: 1_000_000,
    // Nobody follows a judgement: whoever starts next makes it anew, so a stop need not wait for a slow model.
    stopGraceMs: 1_000,
    handler: (run) => judgeSession(ports, run),
  });
}

/**
 * Judges one ended session and stores exactly one evaluation of it. That of a suspended tenant waits until it is no longer,
 * that of a deleted one has none.
 */
export async function judgeSession(
  ports: Ports,
  run: JobRun<JudgeSession, undefined, TenantJob<JudgeSession>>,
): Promise<void> {
  const { data, tenantId, signal, lease } = run;
  const { sessionId, agentId } = data;
  const caller = serviceCaller('evaluation', tenantId, `judge-${sessionId}`) as TenantCaller;
  if (await ports.database.transact(tenantId, (db) => evaluationStore(db).exists(sessionId))) return;

  const tenant = await findTenant(ports, caller, signal);
  if (!tenant || tenant.deleted) return; // nobody is left who could read it
  if (tenant.suspended) {
    await ports.database.transact(tenantId, async (db) => {
      await jobs(db).append<JudgeSession>({ kind: judgeKind, key: run.key, data, delayMs: whileSuspendedMs });
      await lease.complete(db);
    });
    return;
  }

  const [{ agent }, model] = await Promise.all([
    ports.agent.getAgent({ agentId }, { caller, signal }),
    ports.agent.describeModel({ agentId }, { caller, signal }),
  ]);
  if (!agent) throw new Error('The agent service answered without an agent');
  const session = { sessionId, caller, signal };
  const sampleCharacters = Math.min(mostOfSample, Math.max(leastOfSample, 8 * model.contextTokens));
  const { transcript, sample, personSpoke } = await gatherConversation(ports, session, sampleCharacters);
  const labels = labelsOf(agent);
  const asked: Asked = personSpoke
    ? await askModel(ports, { ...session, agent, model, labels, sample, attempt: run.attempt })
    : { why: 'saidNothing' };
  const judgement =
    'judgement' in asked
      ? asked.judgement
      : judgeOffline(await countConversation(ports, session, agent.subject), labels, asked.why);

  await ports.database.transact(tenantId, async (db) => {
    await evaluationStore(db).insertOnce({
      ...judgement,
      sessionId,
      transcript,
      judgedBy: storable('modelId' in asked ? asked.modelId : 'OFFLINE'),
    });
    await lease.complete(db);
  });
}

async function findTenant(
  ports: Ports,
  caller: TenantCaller,
  signal: AbortSignal,
): Promise<GetTenantResponse | undefined> {
  try {
    return await ports.identity.getTenant({ tenantId: caller.tenantId }, { caller, signal, passOn: ['notFound'] });
  } catch (error) {
    if (isDomainError(error, 'notFound')) return undefined;
    throw error;
  }
}
