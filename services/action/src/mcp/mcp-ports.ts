import type { FairQueueLimits } from '@parley/kernel/queues/fair-queue';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { LargeWork } from '../large-work.ts';
import type { ToolList } from './list-tools.ts';
import type { McpConnector } from './mcp-connector.ts';
import type { McpSession } from './session.ts';

export interface McpClientLimits {
  /** The longest time of one call or list, unless the caller names another. */
  timeoutMs: number;
  /** The longest wait for an answer, or for progress. */
  idleMs: number;
  /** The longest time to initialise a session. */
  openMs: number;
  /** How long a list of tools is kept. */
  listKeptMs: number;
  maxSessions: number;
  maxTenantSessions: number;
  /** How long a session is kept that nobody uses. */
  sessionIdleMs: number;
  /** The size of a result's texts and JSON. */
  maxResultBytes: number;
  calls: FairQueueLimits<'connector' | 'tenant'>;
  /** Lists that are read, which wait for no calls. */
  lists: FairQueueLimits<'connector' | 'tenant'>;
}

export interface SessionUse {
  waitsWith: 'calls' | 'lists';
  /** Also ends the wait for a turn. */
  signal: AbortSignal;
  /** Whether `work` may run again where the server may have begun with it. */
  isRepeatable: boolean;
  /** Takes what ends the turn, instead of its end with `work`. */
  keepSlot?: ((release: () => void) => void) | undefined;
}

/** What listing and calling share. */
export interface McpPorts {
  limits: McpClientLimits;
  log: Logger;
  workOn: LargeWork;
  /** Waits for the connector's turn, and runs `work` in its session. */
  inSession<T>(connector: McpConnector, use: SessionUse, work: (session: McpSession) => Promise<T>): Promise<T>;
  /** The tools of a connector, as they were within the last minute. */
  toolsOf(connector: McpConnector): Promise<ToolList>;
}
