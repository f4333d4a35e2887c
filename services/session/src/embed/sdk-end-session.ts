import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, serviceCaller } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Evaluation } from '@parley/protos/parley/evaluation/v1/evaluation';
import { closeSession } from '../close-session.ts';
import type { SdkEndSessionInput, SdkEndSessionResult } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { requireOwnSession } from '../require-own-session.ts';
import type { Session } from '../session.ts';
import { sessionStore } from '../session-store.ts';

/** Times in ms after the session's end at which its evaluation is looked up. The model that evaluates takes seconds. */
const lookAfterMs = [0, 100, 300, 700, 1_300, 1_900];
const evaluationTimeoutMs = 2_000;

/**
 * Ends the session of the caller's token, as `endSession` does, and waits up to two seconds for the evaluation. `evaluation` is null if it
 * is not stored within this time. If the session had already ended, the result is returned at once.
 * @throws DomainError `forbidden` if the token belongs to another session
 */
export async function sdkEndSession(
  ports: Ports,
  { caller, signal }: TenantRequest,
  { sessionId }: SdkEndSessionInput,
): Promise<SdkEndSessionResult> {
  requireOwnSession(caller, sessionId);
  const { tenantId, requestId } = caller;
  const before = await ports.database.read(tenantId, (db) => sessionStore(db).get(sessionId));
  const session = await closeSession(ports, { tenantId, sessionId, status: 'ENDED', signal });
  const evaluation = await findEvaluation(ports, session, {
    caller: serviceCaller('session', tenantId, requestId),
    signal,
    lookAfterMs: before.status === 'ACTIVE' ? lookAfterMs : [0],
  });
  return { sessionId, durationSeconds: durationSeconds(session), evaluation: evaluation ?? null };
}

function durationSeconds({ startedAt, endedAt }: Session): number {
  if (!startedAt || !endedAt) return 0;
  return Math.max(0, Math.round((endedAt.getTime() - startedAt.getTime()) / 1_000));
}

/** Looks up the evaluation of a session. Errors are only logged, because the session has ended even if its evaluation cannot be read. */
async function findEvaluation(
  { evaluation, log }: Ports,
  { id: sessionId, judged }: Session,
  { caller, signal, lookAfterMs: times }: { caller: Caller; signal: AbortSignal; lookAfterMs: readonly number[] },
): Promise<Evaluation | undefined> {
  if (!judged) return undefined;
  const beganMs = performance.now();
  try {
    for (const afterMs of times) {
      await delay(Math.max(0, beganMs + afterMs - performance.now()), undefined, { signal });
      const asked = { sessionId, maxTranscriptBytes: 0n };
      const answer = await evaluation.getEvaluation(asked, { caller, signal, timeoutMs: evaluationTimeoutMs });
      if (answer.evaluation) return answer.evaluation;
    }
  } catch (err) {
    if (!signal.aborted) log.warn({ err, sessionId }, 'evaluation not read; session ended without it');
  }
  return undefined;
}
