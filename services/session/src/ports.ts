import type { Logger } from '@parley/kernel/log';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { Database } from '@parley/postgres/database/types';
import type { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import type { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { RpcClient } from '@parley/rpc/client';
import type { SessionSettings } from './config.ts';

/** The dependencies of the use cases. */
export interface Ports {
  database: Database;
  eventLog: EventLog;
  agent: Pick<RpcClient<AgentServiceDefinition>, 'getAgent' | 'runTurn'>;
  evaluation: Pick<RpcClient<EvaluationServiceDefinition>, 'getEvaluation'>;
  settings: SessionSettings;
  log: Logger;
  /** Announces the end to the gateways, which may have cached the session's tokens. Never rejects: without it they find out within a second. */
  announceEnd(sessionId: number): Promise<void>;
  /** Records the time from the start of a turn to its first chunk. */
  observeFirstChunk(seconds: number): void;
}
