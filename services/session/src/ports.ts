import type { Database } from '@parley/chassis/database/types';
import type { EventLog } from '@parley/chassis/event-log/event-log';
import type { JobClaimer } from '@parley/chassis/jobs/job-claimer';
import type { Logger } from '@parley/chassis/log';
import type { RpcClient } from '@parley/chassis/rpc/client';
import type { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import type { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { SessionSettings } from './config.ts';

/** What the turns themselves need. */
export interface TurnPorts {
  database: Database;
  eventLog: EventLog;
  /** The agent service. */
  readonly agent: Pick<RpcClient<AgentServiceDefinition>, 'getAgent' | 'runTurn'>;
  settings: SessionSettings;
  log: Logger;
  /** Tells the gateways, which may hold tokens of the session, that it has ended. Never rejects. */
  announceEnd(sessionId: number): Promise<void>;
  /** Told how long each first chunk took from the start of its turn. */
  observeFirstChunk(seconds: number): void;
}

/** Everything that the use cases reach the world by. */
export interface Ports extends TurnPorts {
  /** The evaluation service. */
  readonly evaluation: Pick<RpcClient<EvaluationServiceDefinition>, 'getEvaluation'>;
  /** Claims turns for this process, and tells it of cancellations. */
  turns: JobClaimer;
}
