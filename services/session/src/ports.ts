import type { SessionTokens } from '@parley/kernel/secrets/session-token';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { Database } from '@parley/postgres/database/types';
import type { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import type { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { ExportServiceDefinition } from '@parley/protos/parley/export/v1/export';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import type { SessionSettings } from './config.ts';
import type { CustomerCursors } from './embed/customer-cursors.ts';
import type { LookUpQueue } from './embed/look-up-queue.ts';
import type { SyncPorts } from './external-sync/sync-ports.ts';
import type { Transcriber } from './speech/voice-transcriber.ts';

export interface Ports {
  database: Database;
  eventLog: EventLog;
  agent: Pick<RpcClient<AgentServiceDefinition>, 'getAgent' | 'getExternalSync' | 'resolveEmbedAgent' | 'runTurn'>;
  evaluation: Pick<RpcClient<EvaluationServiceDefinition>, 'getEvaluation'>;
  export: Pick<RpcClient<ExportServiceDefinition>, 'requestExport' | 'getExport'>;
  identity: Pick<RpcClient<IdentityServiceDefinition>, 'getTenant' | 'getTenantSecret' | 'exchangeTicket'>;
  /** Signs and verifies tokens of embedded sessions, and tokens of tenants for the voice service. */
  tokens: SessionTokens;
  cursors: CustomerCursors;
  /** Transcribes speech with the voice service. */
  transcribe: Transcriber;
  lookUpQueue: LookUpQueue;
  /** URLs of the platform that are sent to the clients of embedded sessions. */
  embed: { graphqlEndpoint: string; avatarServiceUrl: string };
  settings: SessionSettings;
  /** Posts evaluations to the systems of customers. */
  sync: SyncPorts;
  log: Logger;
  /**
   * Announces the end of a session to the gateways, which may have cached the session's status. Without the announcement they would notice
   * the end within a second. Never rejects.
   */
  announceEnd(sessionId: number): Promise<void>;
  /** Records the time to the first chunk, measured from the start of the turn. */
  observeFirstChunk(seconds: number): void;
}
