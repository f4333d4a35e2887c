import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { serviceCaller } from '@parley/kernel/caller';
import { DomainError, isDomainError } from '@parley/kernel/errors';
import { aborted } from '@parley/kernel/timing/abort';
import { backoff } from '@parley/kernel/timing/backoff';
import { Role, type RunTurnRequest, type TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import type { ToolCall as ToolCallProto } from '@parley/protos/parley/agent/v1/tool_calls';
import { noUsage, sumOf } from '@parley/protos/turn-usage';
import { identityForWorkflows } from './embed/verified-identity.ts';
import type { Ports } from './ports.ts';
import { type FinishReason, finishReasonOf } from './session.ts';
import { type ToolCall, toolCallOf } from './tool-call.ts';
import type { TurnRun } from './turn-job.ts';
import { isHandedOver } from './turn-job.ts';
import { openingTurnIndex, type PreparedTurn } from './turn-store.ts';

const connectAttempts = 5;
const maxNameLength = 200;
/** Time in ms that an agent has to report the usage of its reply after it was asked to stop. Then the call is cancelled. */
const stopWaitMs = 1_000;
const pauseAfter = backoff({ firstMs: 200, maxMs: 2_000 });

/**
 * A part of a reply that is being streamed. `usage` includes earlier calls to the agent service that were lost; `citations` is null if
 * there were no passages.
 */
export interface ReplyChange {
  text: string;
  usage?: TurnUsage | undefined;
  citations?: Citation[] | null | undefined;
  /** A tool call that began or ended after `text`. After a lost call to the agent service, the same tool call may be reported again. */
  toolCall?: ToolCall | undefined;
  /** A card, table or list to show with the text. */
  structuredContent?: unknown;
  /** How the reply ended; set only in the reply's last part. */
  finishReason?: FinishReason | undefined;
}

/**
 * Streams one reply. Retries while the agent service is unreachable, e.g. during a restart, and no text has arrived.
 * When the signal aborts, this function asks the agent to stop, and streams the agent's last output, in particular the
 * exact usage, before it throws the signal's reason.
 */
export async function* askAgent(
  ports: Ports,
  run: TurnRun,
  turn: PreparedTurn,
  signal: AbortSignal,
): AsyncGenerator<ReplyChange> {
  using cancelled = cancelledAfter(signal, () => (isHandedOver(run) ? 0 : stopWaitMs));
  let lost = noUsage;
  let isUsageKnown = false;
  for (let attempt = 1; ; attempt += 1) {
    let usage: TurnUsage | undefined;
    let isAnswering = false;
    let isWhole = false;
    signal.throwIfAborted();
    const ended = new AbortController();
    try {
      const callId = `session.turn.${run.id}.${run.attempt}.${attempt}.${randomUUID()}`;
      const resumes = run.attempt > 1 || attempt > 1;
      const request = requestOf(turn, callId, { resumes, includesEarlierUsage: resumes && !isUsageKnown });
      const caller = serviceCaller('session', run.tenantId, run.data.requestId);
      // If the model refuses the request, the agent's error has a message for users.
      const options = { signal: cancelled.signal, caller, expectedErrors: ['invalid' as const] };
      const requests = stoppable(request, signal, ended.signal);
      for await (const part of ports.agent.runTurn(requests, options)) {
        const text = storable(part.text);
        isAnswering ||= text !== '';
        usage = part.usage ?? usage;
        isUsageKnown ||= usage !== undefined;
        isWhole ||= part.finishReason !== '';
        yield {
          text,
          usage: part.usage && sumOf(lost, part.usage),
          citations: part.citations?.citations,
          toolCall: part.toolCall && storableCall(part.toolCall),
          structuredContent: contentOf(part.structuredContentJson),
          finishReason: finishReasonOf(part.finishReason),
        };
      }
      if (!isWhole) signal.throwIfAborted();
      if (!usage) throw new DomainError('internal', 'A reply ended without its usage', { reason: 'MODEL_FAILED' });
      return;
    } catch (error) {
      const isUnreached = isAgentLost(error) && !isAnswering;
      if (!isUnreached || attempt === connectAttempts) throw error;
    } finally {
      ended.abort();
    }
    lost = { ...sumOf(lost, usage ?? noUsage), contextTokens: 0 };
    yield { text: '', usage: lost, citations: null };
    await delay(pauseAfter(attempt), undefined, { signal });
  }
}

/** Returns the stream of requests to the agent service: `request`, followed by a stop request if `signal` aborts before `endSignal`. */
async function* stoppable(request: RunTurnRequest, signal: AbortSignal, endSignal: AbortSignal) {
  yield request;
  await aborted(AbortSignal.any([signal, endSignal]));
  if (!endSignal.aborted) yield { stop: true };
}

/** Creates a signal that aborts `waitMs` after `signal` has aborted, unless it is disposed before. */
function cancelledAfter(signal: AbortSignal, waitMs: () => number) {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const cancel = () => controller.abort(signal.reason);
  const wait = () => {
    const ms = waitMs();
    if (ms === 0) cancel();
    else timer = setTimeout(cancel, ms);
  };
  if (signal.aborted) wait();
  else signal.addEventListener('abort', wait, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      signal.removeEventListener('abort', wait);
      clearTimeout(timer);
    },
  };
}

/**
 * Reports whether an error means that the agent service itself is unreachable. Returns false if the service responded that no model is
 * available.
 */
export function isAgentLost(error: unknown): boolean {
  return isDomainError(error, 'unavailable') && error.reason === undefined;
}

/** Removes what PostgreSQL cannot store: NUL and lone surrogates. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** Converts a tool call for the database. A model may invent tool names of any length, so the name is cut. */
function storableCall(call: ToolCallProto): ToolCall | undefined {
  return toolCallOf({ ...call, name: storable(call.name.slice(0, maxNameLength)) });
}

function contentOf(json: string | undefined): unknown {
  if (!json) return undefined;
  return JSON.parse(json, (_, value: unknown) => (typeof value === 'string' ? storable(value) : value));
}

function requestOf(
  turn: PreparedTurn,
  callId: string,
  attempt: Pick<RunTurnRequest, 'resumes' | 'includesEarlierUsage'>,
): RunTurnRequest {
  const { agentId, sessionId, clientExternalId, metadata, identity, startedAt, testDraft } = turn;
  const history = turn.history.map(({ role, text }) => ({
    role: role === 'USER' ? Role.ROLE_USER : Role.ROLE_MODEL,
    text,
  }));
  return {
    agentId,
    sessionId,
    callId,
    history,
    turnKey: `session.turn.${turn.id}`,
    clientExternalId,
    metadataJson: metadata === null ? '' : JSON.stringify(metadata),
    sessionStartedAt: startedAt ?? undefined,
    testDraft,
    identityJson: identity ? JSON.stringify(identityForWorkflows(identity)) : '',
    linkedIdentities: identity?.products ?? [],
    opens: turn.turnIndex === openingTurnIndex,
    stop: false,
    ...attempt,
  };
}
