import type { Logger } from '@parley/kernel/log';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { Database } from '@parley/postgres/database/types';
import type { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import type { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { RpcClient } from '@parley/rpc/client';
import type { SessionSettings } from './config.ts';

/** Everything that the use cases reach the world by. */
export interface Ports {
  database: Database;
  eventLog: EventLog;
  /** The agent service. */
  agent: Pick<RpcClient<AgentServiceDefinition>, 'getAgent' | 'runTurn'>;
  /** The evaluation service. */
  evaluation: Pick<RpcClient<EvaluationServiceDefinition>, 'getEvaluation'>;
  settings: SessionSettings;
  log: Logger;
  /** Tells the gateways, which may hold tokens of the session, that it has ended. Never rejects. */
  announceEnd(sessionId: number): Promise<void>;
  /** Told how long each first chunk took from the start of its turn. */
  observeFirstChunk(seconds: number): void;
}
