import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseJson } from '@parley/kernel/json';
import type { ToolDescription, ToolRef } from '@parley/protos/parley/action/v1/action';
import type { AgentTool } from '../agents/agent-input.ts';
import type { ModelTool } from '../models/model.ts';
import type { Ports } from '../ports.ts';
import type { TurnScope } from '../turns/turn.ts';
import { toolRef } from './check-tools.ts';

/** The tools that a model may call in one turn, keyed by the names under which the model sees them. */
export type Toolbox = ReadonlyMap<string, ToolDescription>;

/** Time in ms by which this process waits longer than the action service's own deadline. */
const graceMs = 1_000;

/**
 * Reads the descriptions of a turn's tools. Returns an empty toolbox if there are no tools, or if they cannot be
 * described in time; the turn then continues without tools.
 */
export async function openToolbox(
  { action, tools: limits, log }: Ports,
  { caller, signal }: TenantRequest,
  tools: readonly AgentTool[],
  { account: { agentId, sessionId }, onToolsLeftOut }: TurnScope,
): Promise<Toolbox> {
  try {
    const timeLimitMs = limits.describeTimeoutMs;
    // At its deadline, the action service returns the descriptions that it has so far.
    const options = { caller, signal, timeoutMs: timeLimitMs + graceMs };
    const { tools: found, missing } = await action.describeTools({ tools: tools.map(toolRef), timeLimitMs }, options);
    if (missing.length > 0) {
      const kinds = missing.map(({ errorKind }) => errorKind);
      log.info({ agentId, sessionId, missing: kinds }, 'tools left out of a turn');
      onToolsLeftOut?.(missing.flatMap(({ ref, errorKind }) => (ref ? [`${shownTool(ref)} (${errorKind})`] : [])));
    }
    return named(found);
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error, agentId, sessionId }, 'tools not described; replying without');
    onToolsLeftOut?.(tools.map((tool) => shownTool(toolRef(tool))));
    return new Map();
  }
}

function shownTool({ target }: ToolRef): string {
  return target?.$case === 'tool'
    ? `${target.value.name} of connector ${target.value.connectorId}`
    : `action ${target?.value}`;
}

/** Returns the tools as they are described to a model. */
export function modelTools(toolbox: Toolbox): ModelTool[] {
  return [...toolbox].map(([name, { description, inputSchemaJson }]) => ({
    name,
    ...(description !== '' && { description }),
    inputSchema: parseJson(inputSchemaJson) ?? { type: 'object' },
  }));
}

/** Gives each tool a unique name, because tools of two connectors may share one. */
function named(described: readonly ToolDescription[]): Toolbox {
  const byName = new Map<string, ToolDescription>();
  for (const tool of described) {
    let name = tool.name;
    for (let copy = 2; byName.has(name); copy += 1) name = `${tool.name}_${copy}`;
    byName.set(name, tool);
  }
  return byName;
}
