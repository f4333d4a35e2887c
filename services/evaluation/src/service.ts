import { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { SessionEnded } from '@parley/protos/parley/session/v1/events';
import { service } from '@parley/service/service';
import { evaluationDeclaration } from './declaration.ts';
import { judgeJob } from './judge-session.ts';
import { onSessionEnded } from './on-session-ended.ts';
import type { Ports } from './ports.ts';
import { evaluationRpc } from './rpc.ts';
import { templateRenderer } from './template-renderer.ts';
import { tenantChangeListener } from './tenant-change-listener.ts';

export const evaluation = service(evaluationDeclaration, {
  dependencies: ({ config, database, calls, log }): Ports => ({
    database,
    ...calls,
    templates: templateRenderer(),
    judgeTimeoutMs: config.judgeTimeoutMs,
    log,
  }),
  parts: (ports, { keyValue }) => [ports.templates, tenantChangeListener(ports, keyValue)],
  jobs: [judgeJob],
  consumes: {
    'session.ended.v1': { topic: 'session-ended', decode: SessionEnded.decode, handle: onSessionEnded },
  },
  onTenantEnd: {
    nothingBecause:
      'no judgement of a deleted tenant begins, and callers who could read one that was under way are refused',
  },
  rpc: { definition: EvaluationServiceDefinition, implementation: evaluationRpc },
});
