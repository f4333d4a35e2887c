import {
  ToolCallStatus as StatusProto,
  type ToolCall as ToolCallProto,
} from '@parley/protos/parley/agent/v1/tool_calls';
import type { ToolCallStatus } from './generated/schema.ts';

/** A tool call that a reply made, as in `MessageDto.toolCalls`. */
export interface ToolCall {
  callId: string;
  name: string;
  status: ToolCallStatus;
  durationMs: number | null;
  errorKind: string | null;
}

const protoStatuses: Record<ToolCallStatus, StatusProto> = {
  STARTED: StatusProto.TOOL_CALL_STATUS_STARTED,
  SUCCEEDED: StatusProto.TOOL_CALL_STATUS_SUCCEEDED,
  FAILED: StatusProto.TOOL_CALL_STATUS_FAILED,
  CANCELLED: StatusProto.TOOL_CALL_STATUS_CANCELLED,
};
const statuses = new Map(Object.entries(protoStatuses).map(([status, proto]) => [proto, status as ToolCallStatus]));

/** Converts a tool call. Returns undefined for a status that only a newer version knows. */
export function toolCallOf({
  callId,
  name,
  status: given,
  durationMs,
  errorKind,
}: ToolCallProto): ToolCall | undefined {
  const status = statuses.get(given);
  if (!status) return undefined;
  const isTimed = status === 'SUCCEEDED' || status === 'FAILED';
  return { callId, name, status, durationMs: isTimed ? durationMs : null, errorKind: errorKind || null };
}

export function protoToolCall({ status, durationMs, errorKind, ...call }: ToolCall): ToolCallProto {
  return { ...call, status: protoStatuses[status], durationMs: durationMs ?? 0, errorKind: errorKind ?? '' };
}

/** Returns the reply's calls with one added or changed, in the order in which they began. */
export function withCall(calls: readonly ToolCall[], changed: ToolCall): ToolCall[] {
  const byId = new Map(calls.map((call) => [call.callId, call]));
  return [...byId.set(changed.callId, changed).values()];
}

/** Returns the running calls, marked as cancelled. */
export function cutCalls(calls: readonly ToolCall[]): ToolCall[] {
  return calls.flatMap((call) => (call.status === 'STARTED' ? [{ ...call, status: 'CANCELLED' as const }] : []));
}
