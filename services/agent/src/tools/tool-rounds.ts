import type { TenantRequest } from '@parley/kernel/caller-request';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { CallResult, ToolDescription, TurnCall } from '@parley/protos/parley/action/v1/action';
import type { AgentTool } from '../agents/agent-input.ts';
import type { ModelMessage, ToolCall as ModelToolCall } from '../models/model.ts';
import type { Ports } from '../ports.ts';
import type { TurnEvent, TurnScope } from '../turns/turn.ts';
import { makeCall } from './make-call.ts';
import { readNote, writeNote } from './round-note.ts';
import { sideBySide } from './side-by-side.ts';
import { endedCall, startedCall } from './tool-call-event.ts';
import { failedResult, resultText, withinBytes } from './tool-result.ts';
import { modelTools, openToolbox } from './toolbox.ts';

/** The text and calls of a model in one request. */
export interface ToolRound {
  text: string;
  calls: readonly ModelToolCall[];
}

/** A call of a round, with a function that makes the call and returns its result. */
interface RoundCall {
  call: ModelToolCall;
  /** Identifies the call within its turn: the number of the round, and the call's index in it. The key is the same in every attempt. */
  key: string;
  /** The tool's own name, which may differ from the name that the model sees. */
  name: string;
  result: (signal: AbortSignal) => Promise<CallResult>;
}

export type ToolRounds = Awaited<ReturnType<typeof openToolRounds>>;

const maxSideBySide = 20;
/** Models may invent tool names; names longer than this are cut. */
const maxNameLength = 200;

/** Creates the rounds of tool calls of one turn. The numbers of the rounds continue if another process takes the turn over. */
export async function openToolRounds(
  ports: Ports,
  request: TenantRequest,
  scope: TurnScope,
  { tools, contextTokens }: { tools: readonly AgentTool[]; contextTokens: number },
) {
  const { tools: limits } = ports;
  const { turnKey, toolKeyPrefix = '' } = scope;
  const [toolbox, begun] = await Promise.all([
    openToolbox(ports, request, tools, scope),
    scope.resumes ? begunRounds(ports, request, scope) : [],
  ]);
  // Both limits are in bytes. A token has about four bytes, so `contextTokens` bytes fill a quarter of the context.
  const resultBytes = Math.min(limits.resultBytes, contextTokens);
  const turnBytes = Math.min(limits.turnResultBytes, 2 * contextTokens);
  // No tools are offered if the calls of an earlier attempt cannot be read.
  const offered = begun ? modelTools(toolbox) : [];
  let rounds = 0;
  let remainingMs = limits.turnTimeMs;

  function planned(call: ModelToolCall, at: number, text: string): RoundCall {
    const tool = toolbox.get(call.name);
    const key = `${toolKeyPrefix}${rounds}.${at}`;
    const name = tool?.name ?? call.name.slice(0, maxNameLength).toWellFormed();
    const refusal = refusalOf(call, at, tool);
    if (refusal || !tool) return { call, key, name, result: async () => refusal ?? absent };
    const keyed = {
      ref: tool.ref,
      argumentsJson: JSON.stringify(call.arguments),
      key: { turn: turnKey, call: key, note: writeNote(text, call) },
    };
    const timeLimitMs = Math.min(limits.callTimeMs, Math.ceil(remainingMs));
    return {
      call,
      key,
      name,
      result: (signal) => makeCall(ports, { ...request, signal }, scope, keyed, timeLimitMs),
    };
  }

  function refusalOf({ arguments: given }: ModelToolCall, at: number, tool: ToolDescription | undefined) {
    if (rounds > limits.rounds || remainingMs <= 0) return noMoreCalls;
    if (at >= maxSideBySide) return tooManyCalls;
    if (!tool)
      return failedResult('TOOL_NOT_FOUND', `There is no such tool. There are ${[...toolbox.keys()].join(', ')}`);
    return isJsonObject(given) ? undefined : noArguments;
  }

  /** Returns a call that an earlier attempt began. The call is not made again; if it is still running somewhere, its result is awaited. */
  function resumed({ key, ref, argumentsJson, result }: TurnCall): RoundCall {
    const { call } = readNote(key?.note ?? Buffer.of());
    const name = ref?.target?.$case === 'tool' ? ref.target.value.name : call.name;
    const keyed = { key, ref, argumentsJson };
    return {
      call: { ...call, arguments: parseJson(argumentsJson) },
      key: key?.call ?? '',
      name,
      result: async (signal) => result ?? makeCall(ports, { ...request, signal }, scope, keyed, limits.callTimeMs),
    };
  }

  /** Makes the calls. Yields the events of the round, and returns its messages for the model. */
  async function* exchange(text: string, calls: readonly RoundCall[]): AsyncGenerator<TurnEvent, ModelMessage[]> {
    // The model's next text starts a new paragraph.
    if (/\S$/u.test(text)) yield { text: '\n\n' };
    for (const { key, name } of calls) yield { text: '', toolCall: startedCall(key, name) };
    const beganMs = performance.now();
    const results = new Map<RoundCall, CallResult>();
    for await (const [call, result] of sideBySide(calls, (each, signal) => each.result(signal), request.signal)) {
      results.set(call, result);
      yield { text: '', toolCall: endedCall(call.key, call.name, result) };
    }
    // For calls of an earlier attempt, only the durations are known.
    const durations = [...results.values()].map(({ durationMs }) => durationMs);
    remainingMs -= Math.max(performance.now() - beganMs, ...durations);
    return [
      { role: 'assistant', text, toolCalls: calls.map(({ call }) => call) },
      {
        role: 'tool',
        results: calls.map((each) => {
          const result = results.get(each) ?? absent;
          const { callId, name } = each.call;
          return { callId, name, text: resultText(result, resultBytes), isError: result.errorKind !== '' };
        }),
      },
    ];
  }

  return {
    /** Empty once the maximum number of rounds is reached, so that the model has to answer. */
    get tools() {
      return rounds > limits.rounds ? [] : offered;
    },
    /**
     * Makes the calls of a round concurrently. Yields an event when a call begins and when it ends. Returns the messages of all rounds for
     * the model.
     */
    async *run(
      { text, calls }: ToolRound,
      earlier: readonly ModelMessage[],
    ): AsyncGenerator<TurnEvent, ModelMessage[]> {
      rounds += 1;
      const made = yield* exchange(
        text,
        calls.map((call, at) => planned(call, at, text)),
      );
      return withinBytes([...earlier, ...made], turnBytes);
    },
    /** Completes the rounds that an earlier attempt began; the reply continues after them. */
    async *resume(): AsyncGenerator<TurnEvent, ModelMessage[]> {
      let messages: ModelMessage[] = [];
      for (const { round, calls } of begun ?? []) {
        rounds = round;
        const { text } = readNote(calls[0]?.key?.note ?? Buffer.of());
        if (text !== '') yield { text };
        messages = withinBytes([...messages, ...(yield* exchange(text, calls.map(resumed)))], turnBytes);
      }
      return messages;
    },
  };
}

/** Reads the rounds that earlier attempts began, in order; undefined if they cannot be read. */
async function begunRounds(
  { action, log }: Ports,
  { caller, signal }: TenantRequest,
  { account: { agentId, sessionId }, turnKey, toolKeyPrefix = '' }: TurnScope,
): Promise<{ round: number; calls: TurnCall[] }[] | undefined> {
  try {
    const { calls } = await action.listTurnCalls({ turn: turnKey }, { caller, signal });
    const own = calls.flatMap((call) => placeOf(call, toolKeyPrefix));
    const ordered = own.sort((one, other) => one.at - other.at);
    const byRound = Map.groupBy(ordered, ({ round }) => round);
    return [...byRound]
      .map(([round, all]) => ({ round, calls: all.map(({ call }) => call) }))
      .sort((one, other) => one.round - other.round);
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error, agentId, sessionId }, 'earlier tool calls not read; replying without tools');
    return undefined;
  }
}

/** Returns a call with its round and index; returns nothing if the call belongs to another tool loop of the turn. */
function placeOf(call: TurnCall, prefix: string): { call: TurnCall; round: number; at: number }[] {
  const name = call.key?.call ?? '';
  if (!name.startsWith(prefix)) return [];
  const [round = 0, at = 0] = name.slice(prefix.length).split('.').map(Number);
  return [{ call, round, at }];
}

const limitReached = 'TOOL_LIMIT_REACHED';
const noMoreCalls = failedResult(limitReached, 'No more tools may be called in this turn. Answer with what is known');
const tooManyCalls = failedResult(limitReached, `At most ${maxSideBySide} tools may be called at once`);
const noArguments = failedResult(
  'ARGUMENTS_REFUSED',
  'The arguments must be a JSON object. Call the tool again with one',
);
const absent = failedResult('TOOL_NOT_FOUND', 'There is no such tool');
