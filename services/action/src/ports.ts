import type { JsonSchemas } from '@parley/json-schema/json-schemas';
import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Outbound } from '@parley/outbound/outbound';
import type { Database } from '@parley/postgres/database/types';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import type { BeginQueue } from './calls/begin-queue.ts';
import type { CallMetrics } from './calls/call-metrics.ts';
import type { CallQueue } from './calls/call-queue.ts';
import type { CallingProcess } from './calls/calling-process.ts';
import type { HeldAnswers } from './calls/held-answers.ts';
import type { CertifiedOperation } from './certified-operations.ts';
import type { ActionLimits } from './config.ts';
import type { SendPorts } from './custom-actions/send-action.ts';
import type { LargeWork } from './large-work.ts';
import type { McpClient } from './mcp/mcp-client.ts';

export interface Ports {
  database: Database;
  box: SecretBox;
  identity: Pick<RpcClient<IdentityServiceDefinition>, 'getTenant'>;
  limits: ActionLimits;
  outbound: Pick<Outbound, 'urlProblem'>;
  schemas: JsonSchemas;
  mcp: McpClient;
  /** Dependencies of sending custom actions. */
  sending: SendPorts;
  /** The queue that all calls of this process share. */
  queue: CallQueue;
  /** Limits the memory that this process uses for the responses of running calls and for lists of tools. */
  held: HeldAnswers;
  /** Shares the processor among tenants for work on large responses and schemas. */
  workOn: LargeWork;
  /** Queues the transactions that begin calls. */
  beginQueue: BeginQueue;
  process: CallingProcess;
  certifiedOperations: readonly CertifiedOperation[];
  metrics: CallMetrics;
  log: Logger;
}
