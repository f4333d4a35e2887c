import { serviceCaller, type TenantCaller } from '@parley/chassis/caller';
import { type DomainError, isDomainError } from '@parley/chassis/errors';
import type { JobRun, TenantJob } from '@parley/chassis/jobs/job-types';
import { jobs } from '@parley/chassis/jobs/jobs';
import type { Agent } from '@parley/protos/parley/agent/v1/agent';
import type { GetTenantResponse } from '@parley/protos/parley/identity/v1/identity';
import { evaluationStore } from './evaluation-store.ts';
import { type JudgePrompt, judgePrompt } from './judge-prompt.ts';
import { type Judgement, judgementSchema, readJudgement } from './judgement.ts';
import { labelsOf } from './labels.ts';
import { judgeOffline } from './offline-judge.ts';
import type { Ports } from './ports.ts';
import { storable, type TranscriptLine, transcriptOf } from './transcript.ts';

/** The job that a session's end leaves behind. */
export interface JudgeSession {
  sessionId: number;
  agentId: number;
}

export const judgeKind = 'evaluation.judge';

/** A judgement that does not fit the schema is asked for twice more before the offline judge takes over. */
const maxAsks = 3;

/** How many attempts at the job an agent service has that answers for its agents and not for its models. */
const maxAttemptsAtModels = 3;

/** How often a judgement looks whether its tenant is suspended still. An announcement hastens it (`tenant-watch.ts`). */
const whileSuspendedMs = 10_000;

/**
 * Judges one ended session and stores exactly one evaluation of it. That of a suspended tenant waits until it is no longer,
 * that of a deleted one has none.
 */
export async function judgeSession(
  ports: Ports,
  job: JobRun<JudgeSession, undefined, TenantJob<JudgeSession>>,
): Promise<void> {
  const { data, tenantId, signal, lease } = job;
  const { sessionId, agentId } = data;
  const caller = serviceCaller('evaluation', tenantId, `judge-${sessionId}`) as TenantCaller;
  if (await ports.database.transact(tenantId, (db) => evaluationStore(db).exists(sessionId))) return;

  const tenant = await findTenant(ports, caller, signal);
  if (!tenant || tenant.deleted) return; // nobody is left who could read it
  if (tenant.suspended) {
    await ports.database.transact(tenantId, async (db) => {
      await jobs(db).append<JudgeSession>({ kind: judgeKind, key: job.key, data, delayMs: whileSuspendedMs });
      await lease.complete(db);
    });
    return;
  }

  const [{ messages }, { agent }] = await Promise.all([
    ports.session().getTranscript({ sessionId }, { caller, signal }),
    ports.agent().getAgent({ agentId }, { caller, signal }),
  ]);
  if (!agent) throw new Error('The agent service answered without an agent');
  const transcript = transcriptOf(messages);
  const labels = labelsOf(agent);
  const asked = await askModel(ports, { agent, transcript, labels, sessionId, caller, signal, attempt: job.attempt });
  const judgement = asked?.judgement ?? (await judgeOffline(agent, transcript, labels));

  await ports.database.transact(tenantId, async (db) => {
    await evaluationStore(db).insertOnce({
      ...judgement,
      sessionId,
      transcript,
      judgedBy: storable(asked?.modelId ?? 'OFFLINE'),
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
    return await ports.identity().getTenant({ tenantId: caller.tenantId }, { caller, signal, passOn: ['notFound'] });
  } catch (error) {
    if (isDomainError(error, 'notFound')) return undefined;
    throw error;
  }
}

interface Question {
  agent: Agent;
  transcript: TranscriptLine[];
  labels: string[];
  sessionId: number;
  caller: TenantCaller;
  signal: AbortSignal;
  attempt: number;
}

/** A model's judgement, or undefined where there is no model, none answers, or its answers do not fit. */
async function askModel(
  ports: Ports,
  question: Question,
): Promise<{ judgement: Judgement; modelId: string } | undefined> {
  const { agent, transcript, labels, sessionId, caller, signal, attempt } = question;
  if (transcript.every(({ role }) => role === 'MODEL')) return undefined; // the person said nothing: nothing to ask about
  const prompt = promptFor(ports, question);
  const jsonSchemaJson = JSON.stringify(judgementSchema(labels));
  for (let ask = 1; ask <= maxAsks; ask += 1) {
    const callId = `evaluation-${sessionId}-${attempt}-${ask}`;
    const request = { agentId: agent.id, sessionId, operation: 'evaluation', callId, ...prompt, jsonSchemaJson };
    try {
      const answer = await ports.agent().generate(request, { caller, signal, timeoutMs: ports.judgeTimeoutMs });
      if (answer.offline) return undefined;
      const judgement = readJudgement(answer.text, labels);
      if (judgement) return { judgement, modelId: answer.modelId };
      ports.log.info({ sessionId, ask }, 'a judgement did not fit its schema');
    } catch (error) {
      if (!isDomainError(error) || mayComeBack(error, attempt)) throw error;
      // No model answers: better a judgement by counting now than none. The agent service has tried its fallbacks.
      ports.log.warn({ err: error, sessionId }, 'no model judged the session');
      return undefined;
    }
  }
  return undefined;
}

/** Whether it is the agent service that is away, rather than its models: then the job waits for it, within reason. */
function mayComeBack(error: DomainError, attempt: number): boolean {
  return error.kind === 'unavailable' && error.reason !== 'MODEL_UNAVAILABLE' && attempt < maxAttemptsAtModels;
}

/** A template that fails was right when it was saved, so the judgement must not fail with it: the default takes its place. */
function promptFor(ports: Ports, { agent, transcript, labels, sessionId }: Question): JudgePrompt {
  try {
    return judgePrompt(agent, transcript, labels);
  } catch (error) {
    // Only the kind of failure is logged: Liquid quotes the template in its messages.
    const problem = error instanceof Error ? error.name : 'unknown';
    ports.log.warn({ problem, agentId: agent.id, sessionId }, "the agent's evaluation template failed");
    return judgePrompt({ ...agent, evaluationPromptTemplate: '' }, transcript, labels);
  }
}
