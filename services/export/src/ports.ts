import type { Logger } from '@parley/kernel/telemetry/log';
import type { ObjectStore } from '@parley/objects/object-store';
import type { Database } from '@parley/postgres/database/types';
import type { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import type { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import type { RpcClient } from '@parley/rpc/client';
import type { ExportConfig } from './config.ts';
import type { ExportMetrics } from './export-metrics.ts';
import type { Renderer } from './renderer.ts';

export interface Ports {
  database: Database;
  /** The objects of all tenants; use `tenantObjects` for one tenant. */
  objects: ObjectStore;
  session: Pick<RpcClient<SessionServiceDefinition>, 'resolveSessions' | 'streamTranscript'>;
  agent: Pick<RpcClient<AgentServiceDefinition>, 'getAgent'>;
  evaluation: Pick<RpcClient<EvaluationServiceDefinition>, 'getEvaluation'>;
  renderer: Renderer;
  limits: Pick<
    ExportConfig,
    | 'maxCharacters'
    | 'maxMessages'
    | 'smallCharacters'
    | 'evaluationWaitMs'
    | 'waitingPerSession'
    | 'waitingPerTenant'
    | 'keptPerSession'
    | 'keptBytesPerTenant'
    | 'keptDays'
  >;
  /** The operator's document that replaces an export's document if that cannot be rendered. */
  fallback: Buffer | undefined;
  metrics: ExportMetrics;
  log: Logger;
}
