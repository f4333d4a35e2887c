import type { CallResult } from '@parley/protos/parley/action/v1/action';
import { type ToolCall, ToolCallStatus } from '@parley/protos/parley/agent/v1/tool_calls';

export function startedCall(callId: string, name: string): ToolCall {
  return { callId, name, status: ToolCallStatus.TOOL_CALL_STATUS_STARTED, durationMs: 0, errorKind: '' };
}

export function endedCall(callId: string, name: string, { errorKind, durationMs }: CallResult): ToolCall {
  return { callId, name, status: statusOf(errorKind), durationMs, errorKind };
}

function statusOf(errorKind: string): ToolCallStatus {
  if (errorKind === '') return ToolCallStatus.TOOL_CALL_STATUS_SUCCEEDED;
  if (errorKind === 'CALL_CANCELLED') return ToolCallStatus.TOOL_CALL_STATUS_CANCELLED;
  return ToolCallStatus.TOOL_CALL_STATUS_FAILED;
}
