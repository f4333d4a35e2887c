import { setTimeout as delay } from 'node:timers/promises';
import { serviceCaller } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Evaluation } from '@parley/protos/parley/evaluation/v1/evaluation';
import { closeSession } from '../close-session.ts';
import type { SdkEndSessionInput, SdkEndSessionResult } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { requireOwnSession } from '../require-own-session.ts';
import type { Session } from '../session.ts';

const evaluationWaitMs = 2_000;
const pollMs = 100;

/**
 * Ends the session of the caller's token as `endSession` does, and waits a little for its evaluation: null where that takes longer. One that
 * has ended is answered again. @throws DomainError `forbidden`
 */
export async function sdkEndSession(
  ports: Ports,
  { caller, signal }: TenantRequest,
  { sessionId }: SdkEndSessionInput,
): Promise<SdkEndSessionResult> {
  requireOwnSession(caller, sessionId);
  const { tenantId, requestId } = caller;
  const session = await closeSession(ports, { tenantId, sessionId, status: 'ENDED', signal });
  const evaluation = await waitForEvaluation(ports, session, { requestId, signal });
  return { sessionId, durationSeconds: durationSeconds(session), evaluation: evaluation ?? null };
}

function durationSeconds({ startedAt, endedAt }: Session): number {
  if (!startedAt || !endedAt) return 0;
  return Math.max(0, Math.round((endedAt.getTime() - startedAt.getTime()) / 1_000));
}

/** The session has ended whatever becomes of its evaluation, so failures are no errors here. */
async function waitForEvaluation(
  { evaluation, log }: Ports,
  { id: sessionId, tenantId, judged }: Session,
  { requestId, signal }: { requestId: string; signal: AbortSignal },
): Promise<Evaluation | undefined> {
  if (!judged) return undefined;
  const caller = serviceCaller('session', tenantId, requestId);
  const deadlineMs = performance.now() + evaluationWaitMs;
  try {
    for (;;) {
      const timeoutMs = Math.max(1, Math.ceil(deadlineMs - performance.now()));
      const answer = await evaluation.getEvaluation(
        { sessionId, maxTranscriptBytes: 0n },
        { caller, signal, timeoutMs },
      );
      if (answer.evaluation || performance.now() + pollMs >= deadlineMs) return answer.evaluation;
      await delay(pollMs, undefined, { signal });
    }
  } catch (err) {
    if (!signal.aborted) log.warn({ err, sessionId }, 'evaluation not read; session ended without it');
    return undefined;
  }
}
