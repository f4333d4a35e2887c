import { inTenant } from '@parley/kernel/caller';
import type { EvaluationServiceImplementation } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { MeshContext } from '@parley/rpc/server';
import { findEvaluation } from './find-evaluation.ts';
import type { Ports } from './ports.ts';

export function evaluationRpc(ports: Ports): EvaluationServiceImplementation<MeshContext> {
  return {
    getEvaluation: async ({ sessionId, maxTranscriptBytes }, { caller }) => {
      const most = maxTranscriptBytes === undefined ? undefined : Number(maxTranscriptBytes);
      const found = await findEvaluation(ports, inTenant(caller), sessionId, most);
      return { evaluation: found && { ...found, transcriptBytes: BigInt(found.transcriptBytes) } };
    },
  };
}
