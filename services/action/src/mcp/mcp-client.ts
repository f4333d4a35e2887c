import { type FairQueue, fairQueue } from '@parley/kernel/queues/fair-queue';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Outbound } from '@parley/outbound/outbound';
import type { HeldAnswers } from '../calls/held-answers.ts';
import { type LargeWork, largeWork } from '../large-work.ts';
import { type CallOptions, callTool, type ToolCall } from './call-tool.ts';
import { isTooSlow, noSlotInTime } from './connector-errors.ts';
import type { McpTool } from './list-tools.ts';
import type { McpConnector } from './mcp-connector.ts';
import type { McpClientLimits, McpPorts } from './mcp-ports.ts';
import { readTools } from './read-tools.ts';
import { openSession } from './session.ts';
import { sessionPool } from './session-pool.ts';
import { toolLists } from './tool-lists.ts';
import type { ToolResult } from './tool-result.ts';
import { withSignal } from './with-signal.ts';

export interface McpClientOptions {
  outbound: Pick<Outbound, 'stream'>;
  log: Logger;
  limits?: Partial<McpClientLimits>;
  /** A queue for calls, shared with other callers. Default: a separate queue with `limits.calls`. */
  queue?: Pick<FairQueue<'connector' | 'tenant'>, 'enter'>;
  /** Limits the memory that lists of tools take while they are read. Default: no limit. */
  held?: Pick<HeldAnswers, 'holding'>;
  /** A scheduler for large work, shared with other callers. Default: a separate scheduler. */
  workOn?: LargeWork;
  /** The current time in ms. Default: the clock of the process. */
  now?: () => number;
}

export interface McpClient {
  /**
   * Lists the tools of a connector. The list is cached for one minute.
   * @throws DomainError with a `ConnectorReason` or an `OutboundReason` if the tools cannot be read
   * @throws the signal's reason if it aborts
   */
  listTools(connector: McpConnector, signal?: AbortSignal): Promise<McpTool[]>;
  /** Calls a tool once; see `callTool` in call-tool.ts. */
  callTool(connector: McpConnector, call: ToolCall, options?: CallOptions): Promise<ToolResult>;
  /** Closes all sessions and cancels their requests. */
  stop(): Promise<void>;
}

const defaults: McpClientLimits = {
  timeoutMs: 30_000,
  idleMs: 30_000,
  openMs: 15_000,
  listKeptMs: 60_000,
  maxSessions: 500,
  maxTenantSessions: 50,
  sessionIdleMs: 300_000,
  maxResultBytes: 2 ** 20,
  calls: {
    inFlight: 1_024,
    shares: {
      connector: { inFlight: 8, waiting: 256, label: 'to this connector' },
      tenant: { inFlight: 16, waiting: 512 },
    },
  },
  lists: {
    inFlight: 512,
    shares: {
      connector: { inFlight: 2, waiting: 256, label: 'to this connector' },
      // `inFlight` is low, because each list may have 2 MB of JSON. It is above the number of slow servers that one tenant usually has.
      tenant: { inFlight: 4, waiting: 512 },
    },
  },
};

const unbounded: Pick<HeldAnswers, 'holding'> = { holding: (_, work) => work() };

/** Lists and calls the tools of MCP servers over Streamable HTTP, through the outbound guard. */
export function mcpClient(options: McpClientOptions): McpClient {
  const { outbound, log, limits: given = {}, queue: shared, held = unbounded, workOn = largeWork(), now } = options;
  const limits = { ...defaults, ...given };
  const lists = toolLists({ keptMs: limits.listKeptMs, now });
  const queues = { calls: shared ?? fairQueue(limits.calls), lists: fairQueue(limits.lists) };
  const sessions = sessionPool({
    maxSessions: limits.maxSessions,
    maxTenantSessions: limits.maxTenantSessions,
    idleMs: limits.sessionIdleMs,
    open: (connector, signal) =>
      openSession(connector, {
        outbound,
        signal,
        timeoutMs: limits.openMs,
        onToolsChanged: () => lists.changed(connector),
        workOn: (bytes, work) => workOn(connector.tenantId, bytes, work),
      }),
  });

  const ports: McpPorts = {
    limits,
    log,
    workOn,
    async inSession(connector, use, work) {
      const { tenantId: tenant, id } = connector;
      const slot = queues[use.waitsWith].enter({ connector: `${tenant}/${id}`, tenant }, () => use.signal);
      const release = await Promise.resolve(slot).catch((error: unknown) => {
        throw isTooSlow(error) ? noSlotInTime() : error;
      });
      use.keepSlot?.(release);
      try {
        return await sessions.use(connector, use, work);
      } finally {
        if (!use.keepSlot) release();
      }
    },
    toolsOf: (connector) =>
      lists.get(connector, () => held.holding(connector.tenantId, () => readTools(ports, connector))),
  };

  return {
    async listTools(connector, signal) {
      const list = ports.toolsOf(connector);
      return (await (signal ? withSignal(list, signal) : list)).tools;
    },
    callTool: (connector, call, options) => callTool(ports, connector, call, options),
    stop: () => sessions.stop(),
  };
}
