import type { TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError } from '@parley/kernel/errors';
import { backoff } from '@parley/kernel/timing/backoff';
import { sleep } from '@parley/kernel/timing/timers';
import type { CallKey, CallResult, ToolRef } from '@parley/protos/parley/action/v1/action';
import type { Ports } from '../ports.ts';
import type { TurnScope } from '../turns/turn.ts';
import { failedResult } from './tool-result.ts';

/** The caller, agent and session of a tool call. */
interface CallScope extends Pick<TurnScope, 'linkedIdentities'> {
  account: Pick<TurnScope['account'], 'agentId' | 'sessionId'>;
}

/** A call with an idempotency key: the action service makes the call once, however often it is requested. */
export interface KeyedCall {
  ref: ToolRef | undefined;
  argumentsJson: string;
  key: CallKey | undefined;
}

/** Time in ms by which this process waits longer than the action service's own deadline. */
const graceMs = 5_000;
/** Maximum number of attempts. All attempts, with the pauses between them, take longer than a restart of a single action process. */
const attempts = 8;
const pauseAfter = backoff({ firstMs: 100, maxMs: 2_000 });

/** Returns the result of a call, even of a failed one. Rejects only when the request is aborted, which cancels the call. */
export async function makeCall(
  { action, log }: Pick<Ports, 'action' | 'log'>,
  request: TenantRequest,
  scope: CallScope,
  call: KeyedCall,
  timeLimitMs: number,
): Promise<CallResult> {
  const { signal } = request;
  const beganMs = performance.now();
  const elapsedMs = () => Math.round(performance.now() - beganMs);
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      return await ask(action, request, scope, call, Math.max(1, timeLimitMs - elapsedMs()));
    } catch (error) {
      signal.throwIfAborted();
      // The call is retried with the same key, because only the action service knows whether the call has begun.
      const isLast = attempt === attempts || elapsedMs() + pauseAfter(attempt) >= timeLimitMs;
      if (isLast || !isDomainError(error, 'unavailable')) {
        const { agentId, sessionId } = scope.account;
        log.warn({ err: error, agentId, sessionId }, 'tool call failed');
        return { ...failureOf(error), durationMs: elapsedMs() };
      }
    }
    await sleep(pauseAfter(attempt), signal);
  }
}

async function ask(
  action: Ports['action'],
  { caller, signal }: TenantRequest,
  { account: { agentId, sessionId }, linkedIdentities = [] }: CallScope,
  { ref, argumentsJson, key }: KeyedCall,
  timeLimitMs: number,
): Promise<CallResult> {
  const call = { argumentsJson, key, timeLimitMs, agentId, sessionId };
  const expectedErrors: 'invalid'[] = ['invalid'];
  const options = { caller, signal, timeoutMs: timeLimitMs + graceMs, expectedErrors };
  const target = ref?.target;
  if (target?.$case === 'tool') {
    const { result = unanswered } = await action.callTool({ ...call, tool: target.value }, options);
    return result;
  }
  if (target?.$case !== 'actionId') return unanswered;
  const { result = unanswered } = await action.callAction(
    { ...call, actionId: target.value, linkedIdentities },
    options,
  );
  return result;
}

function failureOf(error: unknown): CallResult {
  if (isDomainError(error, 'invalid')) return failedResult('ARGUMENTS_REFUSED', error.message);
  return isDomainError(error, 'unavailable') ? unreached : unanswered;
}

const unreached = failedResult('UNAVAILABLE', 'The tool cannot be reached now');
const unanswered = failedResult('CALL_FAILED', 'The call failed');
