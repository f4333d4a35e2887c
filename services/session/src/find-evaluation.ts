import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Evaluation } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { Ports } from './ports.ts';
import { findSession } from './read-sessions.ts';

/** Timeout of the call to the evaluation service, in ms; long enough for a transcript of about 30 MB. */
const evaluationTimeoutMs = 15_000;

/**
 * Returns the evaluation of a session; undefined until it is stored. The transcript is empty if the stored one exceeds
 * `maxTranscriptBytes`; with 0, no transcript is read.
 */
export async function findEvaluation(
  ports: Ports,
  request: TenantRequest,
  { sessionId, maxTranscriptBytes }: { sessionId: number; maxTranscriptBytes: number },
): Promise<Evaluation | undefined> {
  const session = await findSession(ports, request, sessionId);
  if (!session || session.status === 'ACTIVE') return undefined;
  const { evaluation } = await ports.evaluation.getEvaluation(
    { sessionId: session.id, maxTranscriptBytes: BigInt(maxTranscriptBytes) },
    { caller: request.caller, timeoutMs: evaluationTimeoutMs },
  );
  return evaluation;
}
