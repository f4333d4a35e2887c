import { inTenant } from '@parley/chassis/caller';
import type { MeshContext } from '@parley/chassis/rpc/server';
import type {
  Evaluation as EvaluationMessage,
  EvaluationServiceImplementation,
} from '@parley/protos/parley/evaluation/v1/evaluation';
import type { Evaluation } from './evaluation-store.ts';
import { findEvaluation } from './find-evaluation.ts';
import type { Ports } from './ports.ts';

export function evaluationRpc(ports: Ports): EvaluationServiceImplementation<MeshContext> {
  return {
    getEvaluation: async ({ sessionId }, { caller }) => {
      const found = await findEvaluation(ports, inTenant(caller), sessionId);
      return { evaluation: found && toMessage(found) };
    },
  };
}

function toMessage({ transcript, ...same }: Evaluation): EvaluationMessage {
  return { ...same, transcriptJson: JSON.stringify(transcript) };
}
