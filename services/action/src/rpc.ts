import { tenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import {
  type ActionServiceImplementation,
  CallResult as CallResultMessage,
  type ToolRef as ToolRefMessage,
} from '@parley/protos/parley/action/v1/action';
import type { MeshContext } from '@parley/rpc/server';
import { callAction } from './calls/call-action.ts';
import type { CallResult, ToolRef } from './calls/call-result.ts';
import { callTool } from './calls/call-tool.ts';
import { listTurnCalls } from './calls/list-turn-calls.ts';
import { checkTools } from './check-tools.ts';
import { describeTools } from './describe-tools.ts';
import { listTools } from './list-tools.ts';
import type { Ports } from './ports.ts';

export function actionRpc(ports: Ports): ActionServiceImplementation<MeshContext> {
  return {
    async checkTools({ tools }, call) {
      await checkTools(ports, tenantRequest(call), tools.map(refOf));
      return {};
    },
    async describeTools({ tools: asked, timeLimitMs }, call) {
      const { tools, missing } = await describeTools(ports, tenantRequest(call), asked.map(refOf), timeLimitMs);
      return {
        tools: tools.map(({ ref, ...tool }) => ({ ...tool, ref: refMessage(ref) })),
        missing: missing.map(({ ref, errorKind }) => ({ ref: refMessage(ref), errorKind })),
      };
    },
    async listTools(query, call) {
      const { connectors, tools } = await listTools(ports, tenantRequest(call), query);
      return { connectors, tools: tools.map(({ ref, ...tool }) => ({ ...tool, ref: refMessage(ref) })) };
    },
    async callTool({ tool, ...given }, call) {
      if (!tool) throw invalid({ path: 'tool', message: 'must be given' });
      const ref: ToolRef = { kind: 'TOOL', target: tool.connectorId, toolName: tool.name };
      return { result: resultMessage(await callTool(ports, tenantRequest(call), { ...given, ref })) };
    },
    async callAction({ actionId, ...given }, call) {
      const ref: ToolRef = { kind: 'ACTION', target: actionId, toolName: null };
      return { result: resultMessage(await callAction(ports, tenantRequest(call), { ...given, ref })) };
    },
    async listTurnCalls({ turn }, call) {
      const calls = await listTurnCalls(ports, tenantRequest(call), turn);
      return {
        calls: calls.map(({ turn, call, note, ref, argumentsJson, result, begunAt }) => ({
          key: { turn, call, note },
          ref: refMessage(ref),
          argumentsJson,
          result: result && resultMessage(result),
          begunAt,
        })),
      };
    },
  };
}

function refOf({ target }: ToolRefMessage): ToolRef {
  if (target?.$case === 'tool') return { kind: 'TOOL', target: target.value.connectorId, toolName: target.value.name };
  if (target?.$case === 'actionId') return { kind: 'ACTION', target: target.value, toolName: null };
  throw invalid({ path: 'tools', message: 'must name a tool or an action' });
}

function refMessage(ref: ToolRef): ToolRefMessage {
  if (ref.kind === 'ACTION') return { target: { $case: 'actionId', value: ref.target } };
  return { target: { $case: 'tool', value: { connectorId: ref.target, name: ref.toolName } } };
}

function resultMessage({ errorKind, status, body, ...result }: CallResult): CallResultMessage {
  return CallResultMessage.fromPartial({
    ...result,
    errorKind: errorKind ?? '',
    status: status ?? 0,
    body: body ? { $case: body.kind, value: body.text } : undefined,
  });
}
