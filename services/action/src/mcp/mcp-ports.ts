import type { FairQueueLimits } from '@parley/kernel/queues/fair-queue';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { LargeWork } from '../large-work.ts';
import type { ToolList } from './list-tools.ts';
import type { McpConnector } from './mcp-connector.ts';
import type { McpSession } from './session.ts';

export interface McpClientLimits {
  /** Maximum time in ms of one list, and of one call for which the caller sets no other time. */
  timeoutMs: number;
  /** Maximum time without a response or a progress notification. */
  idleMs: number;
  /** Maximum time to initialize a session. */
  openMs: number;
  /** How long a list of tools is cached. */
  listKeptMs: number;
  maxSessions: number;
  maxTenantSessions: number;
  /** How long an idle session is kept. */
  sessionIdleMs: number;
  /** Maximum size of a result's texts and JSON together. */
  maxResultBytes: number;
  calls: FairQueueLimits<'connector' | 'tenant'>;
  /** Limits of the queue for lists, which is separate from the queue for calls. */
  lists: FairQueueLimits<'connector' | 'tenant'>;
}

export interface SessionUse {
  waitsWith: 'calls' | 'lists';
  /** Cancels the work, or its wait in the queue. */
  signal: AbortSignal;
  /** Whether `work` may run again even if the server may have started it. */
  isRepeatable: boolean;
  /** Receives the function that releases the queue slot. Default: the slot is released when `work` ends. */
  keepSlot?: ((release: () => void) => void) | undefined;
}

/** Dependencies of listing and calling tools. */
export interface McpPorts {
  limits: McpClientLimits;
  log: Logger;
  workOn: LargeWork;
  /** Waits in the connector's queue, then runs `work` in the connector's session. */
  inSession<T>(connector: McpConnector, use: SessionUse, work: (session: McpSession) => Promise<T>): Promise<T>;
  /** Returns the tools of a connector, at most a minute old. */
  toolsOf(connector: McpConnector): Promise<ToolList>;
}
