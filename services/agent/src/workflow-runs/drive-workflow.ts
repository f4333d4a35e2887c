import type { TenantRequest } from '@parley/kernel/caller-request';
import { DomainError, isDomainError } from '@parley/kernel/errors';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import { noUsage, sumOf } from '@parley/protos/turn-usage';
import type { Ports } from '../ports.ts';
import type { TurnEvent, TurnScope } from '../turns/turn.ts';
import { advance } from '../workflow/advance.ts';
import type { Json, WorkflowDefinition } from '../workflow/definition.ts';
import { evaluationBudget, type WorkflowEngine, workflowEngine } from '../workflow/engine.ts';
import type { EffectOutcome, NodeError, WorkflowEffect } from '../workflow/state.ts';
import { type CallClock, callClock, untimed } from './call-clock.ts';
import { carryOut, type EffectContext } from './effects.ts';
import { closeNodeSpan, openNodeSpan, recordNodeSpans, within } from './node-span.ts';
import { cutBy, type RunProgress, withCall, withSpent } from './workflow-run.ts';

export interface WorkflowDrive extends EffectContext {
  definition: WorkflowDefinition;
  /** Creates the first state of a new run. */
  begin: (engine: WorkflowEngine) => RunProgress;
  /** Usage of earlier attempts, which every event's usage includes. */
  reported: TurnUsage;
  /** Stores the progress; called before each effect and at the end. @throws if another attempt has taken over the run */
  keep: (progress: RunProgress) => Promise<void>;
  /** Called before each effect. @throws DomainError if the caller may no longer continue */
  checkAccess: () => Promise<void>;
  /** Called with the progress and usage so far if the run ends between two states. */
  onCut?: (progress: RunProgress) => void;
}

/**
 * Runs a workflow to the end of a turn and returns its last state, which may be `failed`. Streams text of nodes before
 * the response, if the user may see it.
 * @throws DomainError `unavailable`: `TURN_TIMEOUT`; `invalid`: `SPEND_CAP_REACHED`
 */
export async function* driveWorkflow(
  ports: Ports,
  request: TenantRequest,
  drive: WorkflowDrive,
): AsyncGenerator<TurnEvent, RunProgress> {
  const { definition, keep } = drive;
  const engine = workflowEngine({ maxNodes: ports.workflowRuns.nodes });
  const budget = evaluationBudget();
  let progress = drive.begin(engine);
  let { reported } = drive;
  let contextTokens = 0;
  let streamed = '';
  let gap = '';
  const turnClock = callClock(ports.workflowRuns.turnTimeMs - progress.ranMs);
  const ranBefore = progress.ranMs;
  try {
    for (;;) {
      const seen = progress.state.trace.length;
      const state = await advance(request, { engine, definition, budget }, progress.state);
      recordNodeSpans(state.trace.slice(seen));
      progress = { ...progress, state, ranMs: ranBefore + turnClock.ranMs };
      await keep(progress);
      const { effect } = state;
      if (!effect) break;
      if (turnClock.isOver) throw turnTimeout();
      await drive.checkAccess();
      const step = state.trace.at(-1);
      const span = step && openNodeSpan(step);
      const bounds = boundsOf(effect, request.signal, turnClock);
      let errorCode: string | null | undefined = null;
      let used: TurnUsage = noUsage;
      let outcome: EffectOutcome;
      const { passages: passagesBefore } = progress;
      try {
        let leftOut: readonly string[] = [];
        const scope: TurnScope = {
          ...drive.scope,
          untimed: bounds.untimed,
          onToolsLeftOut(tools) {
            leftOut = tools;
          },
        };
        const events = carryOut(ports, { ...request, signal: bounds.signal }, { ...drive, scope }, effect);
        const running = span ? within(span, events) : events;
        try {
          let next = await running.next();
          for (; !next.done; next = await running.next()) {
            const { usage, passages, text, ...event } = next.value;
            if (usage) used = usage;
            if (passages) progress = { ...progress, passages: withPassages(passagesBefore, passages) };
            if (event.toolCall) progress = withCall(progress, event.toolCall);
            streamed += text;
            yield {
              ...event,
              text: text && gap + text,
              ...(usage && { usage: sumOf(reported, usage) }),
              ...(passages && progress.passages && { passages: progress.passages }),
            };
            if (text !== '') gap = '';
          }
          outcome = withWarning(cleaned(next.value), leftOut);
        } catch (error) {
          outcome = bounds.outcomeOf(error);
        } finally {
          await running.return({ output: null });
        }
        errorCode = 'error' in outcome ? outcome.error.code : undefined;
      } finally {
        bounds.end();
        progress = withSpent(progress, used);
        if (span) closeNodeSpan(span, { errorCode, used });
      }
      contextTokens = used.contextTokens || contextTokens;
      reported = { ...sumOf(reported, used), contextTokens: 0 };
      if (used !== noUsage) yield { text: '', usage: reported };
      if ('error' in outcome && streamed !== '') {
        // The next text starts a new paragraph.
        gap = '\n\n';
        streamed = '';
      }
      progress = { ...progress, state: engine.resume(definition, progress.state, effect.key, outcome) };
    }
  } catch (error) {
    drive.onCut?.(cutBy(progress, cutError(error), Date.now()));
    throw error;
  }
  const { reply } = progress.state;
  const text = reply ? unsaid(streamed, reply.text) : '';
  yield {
    text: text && gap + text,
    usage: { ...reported, contextTokens },
    ...(reply?.structuredContent && { structuredContent: reply.structuredContent }),
  };
  return progress;
}

/** Returns the part of a response that was not streamed yet. */
function unsaid(streamed: string, text: string): string {
  // If the response does not begin with the streamed text, that text exceeded the output limit and was streamed as a whole.
  return text.startsWith(streamed) ? text.slice(streamed.length) : '';
}

function turnTimeout(): DomainError {
  return new DomainError('unavailable', 'The workflow took too long', { reason: 'TURN_TIMEOUT' });
}

/** Returns the error that the trace shows for the node that was running when the turn ended. */
function cutError(error: unknown): NodeError {
  if (!isDomainError(error)) return { code: 'INTERNAL', message: 'The turn has ended' };
  return { code: error.reason ?? 'TURN_ENDED', message: error.message };
}

/** Returns the time limits of an effect: the caller's signal, the turn's clock and the node's own timeout. */
function boundsOf(
  { timeoutMs = Number.POSITIVE_INFINITY }: WorkflowEffect,
  callerSignal: AbortSignal,
  turn: CallClock,
) {
  const node = callClock(timeoutMs);
  const clocks = [turn, node];
  for (const clock of clocks) clock.start();
  return {
    signal: AbortSignal.any([callerSignal, turn.signal, node.signal]),
    untimed: <Result>(wait: () => Promise<Result>) => untimed(clocks, wait),
    end(): void {
      for (const clock of clocks) clock.stop();
    },
    /** Converts an error to the outcome of the node. @throws the error if it ends the whole turn */
    outcomeOf(error: unknown): EffectOutcome {
      callerSignal.throwIfAborted();
      if (turn.signal.aborted) throw turnTimeout();
      if (node.signal.aborted) {
        return { error: { code: 'NODE_TIMEOUT', message: `The node took longer than ${timeoutMs} ms` } };
      }
      const code = isDomainError(error) ? modelFailures[error.reason ?? ''] : undefined;
      if (code === undefined || !isDomainError(error)) throw error;
      return { error: { code, message: error.message } };
    },
  };
}

/** Node error codes for the errors of `turnError`. */
const modelFailures: Record<string, string> = {
  MODEL_UNAVAILABLE: 'MODEL_UNAVAILABLE',
  MODEL_FAILED: 'MODEL_FAILED',
  MODEL_DECLINED: 'MODEL_DECLINED',
  MODEL_LIMIT_REACHED: 'MODEL_LIMIT_REACHED',
  MODEL_REQUEST_REFUSED: 'MODEL_REQUEST_REFUSED',
  TURN_TIMEOUT: 'MODEL_TIMEOUT',
};

function withPassages(
  earlier: RunProgress['passages'] = [],
  found: NonNullable<RunProgress['passages']>,
): RunProgress['passages'] {
  const isKnown = ({ documentId, chunkIndex }: (typeof found)[number]) =>
    earlier.some((each) => each.documentId === documentId && each.chunkIndex === chunkIndex);
  return [...earlier, ...found.filter((each) => !isKnown(each))];
}

function withWarning(outcome: EffectOutcome, leftOut: readonly string[]): EffectOutcome {
  if ('error' in outcome || leftOut.length === 0) return outcome;
  return { warning: { code: 'TOOLS_LEFT_OUT', message: `It went on without ${leftOut.join(', ')}` }, ...outcome };
}

/** Removes, from messages and search queries, the characters that PostgreSQL cannot store. */
function cleaned(outcome: EffectOutcome): EffectOutcome {
  return 'error' in outcome ? outcome : { ...outcome, output: cleanedJson(outcome.output) };
}

function cleanedJson(json: Json): Json {
  if (typeof json === 'string') return json.replaceAll('\0', '').toWellFormed();
  if (Array.isArray(json)) return json.map(cleanedJson);
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => [cleanedJson(key) as string, cleanedJson(value)]),
  );
}
