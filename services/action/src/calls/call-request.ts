import { createHash } from 'node:crypto';
import { argsLimits } from '@parley/json-schema/json-schemas';
import { invalid } from '@parley/kernel/errors';
import { textProblem } from '@parley/kernel/input';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { ToolRef } from './call-result.ts';
import type { BegunCall } from './turn-call-store.ts';

/** A requested call before validation. */
export interface GivenCall {
  ref: ToolRef;
  argumentsJson: string;
  key?: { turn: string; call: string; note: Uint8Array } | undefined;
  timeLimitMs: number;
  agentId?: number | undefined;
  sessionId?: number | undefined;
}

/** A validated call. */
export interface CallRequest extends BegunCall {
  note: Uint8Array;
  args: Record<string, unknown>;
  argumentsJson: string;
  timeLimitMs: number;
}

const maxNoteBytes = 102_400;

/** @throws DomainError `invalid` with every problem of the request */
export function callRequest(given: GivenCall, maxMs: number): CallRequest {
  const { ref, argumentsJson, key, timeLimitMs, agentId = null, sessionId = null } = given;
  if (!key) throw invalid({ path: 'key', message: 'must be given' });
  const refuse = (path: string, message: string | undefined) => (message === undefined ? [] : [{ path, message }]);
  const args = argumentsJson.length <= argsLimits.maxBytes ? parseJson(argumentsJson) : undefined;
  const problems = [
    ...refuse('key.turn', textProblem(key.turn, 200)),
    ...refuse('key.call', textProblem(key.call, 100)),
    ...refuse('key.note', key.note.length > maxNoteBytes ? `must have at most ${maxNoteBytes} bytes` : undefined),
    ...refuse('tool.name', ref.toolName === null ? undefined : textProblem(ref.toolName, 256)),
  ];
  if (!isJsonObject(args)) problems.push({ path: 'arguments_json', message: argumentsProblem });
  if (problems.length > 0 || !isJsonObject(args)) throw invalid(...problems);
  const limitMs = timeLimitMs === 0 ? maxMs : Math.min(timeLimitMs, maxMs);
  return {
    turn: key.turn,
    call: key.call,
    note: key.note,
    ref,
    args,
    argumentsJson,
    timeLimitMs: limitMs,
    agentId,
    sessionId,
  };
}

const argumentsProblem = `must be a JSON object of at most ${argsLimits.maxBytes} bytes`;

/** Returns the `Idempotency-Key` for the remote server: the same in every attempt, and without information about the tenant. */
export function idempotencyKeyOf(tenantId: number, { turn, call }: Pick<CallRequest, 'turn' | 'call'>): string {
  return createHash('sha256')
    .update(JSON.stringify(['parley call', tenantId, turn, call]))
    .digest('base64url');
}
