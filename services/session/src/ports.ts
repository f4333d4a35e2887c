import type { Logger } from '@parley/kernel/log';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { Database } from '@parley/postgres/database/types';
import type { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import type { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { RpcClient } from '@parley/rpc/client';
import type { SessionSettings } from './config.ts';

export interface Ports {
  database: Database;
  eventLog: EventLog;
  agent: Pick<RpcClient<AgentServiceDefinition>, 'getAgent' | 'runTurn'>;
  evaluation: Pick<RpcClient<EvaluationServiceDefinition>, 'getEvaluation'>;
  settings: SessionSettings;
  log: Logger;
  /** To gateways, which may have cached the status; without it they notice within a second. Never rejects. */
  announceEnd(sessionId: number): Promise<void>;
  /** From the start of the turn. */
  observeFirstChunk(seconds: number): void;
}
