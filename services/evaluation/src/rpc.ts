import { tenantRequest } from '@parley/kernel/caller-request';
import type { EvaluationServiceImplementation } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { MeshContext } from '@parley/rpc/server';
import { findEvaluation } from './find-evaluation.ts';
import type { Ports } from './ports.ts';

export function evaluationRpc(ports: Ports): EvaluationServiceImplementation<MeshContext> {
  return {
    getEvaluation: async ({ sessionId, maxTranscriptBytes: given }, call) => {
      const maxTranscriptBytes = given === undefined ? undefined : Number(given);
      const found = await findEvaluation(ports, tenantRequest(call), { sessionId, maxTranscriptBytes });
      return { evaluation: found && { ...found, transcriptBytes: BigInt(found.transcriptBytes) } };
    },
  };
}
