import type { TenantRequest } from '@parley/kernel/caller-request';
import { DomainError, isDomainError } from '@parley/kernel/errors';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import { noUsage, sumOf } from '@parley/protos/turn-usage';
import type { Ports } from '../ports.ts';
import type { TurnEvent } from '../turn.ts';
import { advance } from '../workflow/advance.ts';
import type { Json, WorkflowDefinition } from '../workflow/definition.ts';
import { evaluationBudget, type WorkflowEngine, workflowEngine } from '../workflow/engine.ts';
import type { EffectOutcome, WorkflowEffect, WorkflowState } from '../workflow/state.ts';
import { carryOut, type EffectContext } from './effects.ts';
import { closeNodeSpan, openNodeSpan, recordNodeSpans, within } from './node-span.ts';
import { type RunProgress, withSpent } from './workflow-run.ts';

export interface WorkflowDrive extends EffectContext {
  definition: WorkflowDefinition;
  /** Makes the first state where the run is new. */
  begin: (engine: WorkflowEngine) => RunProgress;
  /** Usage that events begin with. */
  reported: TurnUsage;
  /** Called at the end, and before each effect. @throws where another attempt has the run */
  keep: (progress: RunProgress) => Promise<void>;
}

/**
 * Runs a workflow to the end of a turn, and answers its last state, `failed` ones included. Its text is streamed, as far as the person may
 * see it before the response. @throws DomainError `unavailable`: `TURN_TIMEOUT`; `invalid`: `SPEND_CAP_REACHED`
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
  const limit = turnLimit(ports.workflowRuns.turnTimeMs - msSpent(progress.state));
  try {
    for (;;) {
      const seen = progress.state.trace.length;
      const state = await advance(request, { engine, definition, budget }, progress.state);
      recordNodeSpans(state.trace.slice(seen));
      progress = { ...progress, state };
      await keep(progress);
      const { effect } = state;
      if (!effect) break;
      limit.throwIfOver();
      const step = state.trace.at(-1);
      const span = step && openNodeSpan(step);
      const bounds = boundsOf(effect, request.signal, limit.signal);
      let errorCode: string | null | undefined = null;
      let used: TurnUsage = noUsage;
      let outcome: EffectOutcome;
      const { passages: passagesBefore } = progress;
      try {
        const events = carryOut(ports, { ...request, signal: bounds.signal }, drive, effect);
        const running = span ? within(span, events) : events;
        try {
          let next = await running.next();
          for (; !next.done; next = await running.next()) {
            const { usage, passages, text, ...event } = next.value;
            if (usage) used = usage;
            if (passages) progress = { ...progress, passages: withPassages(passagesBefore, passages) };
            streamed += text;
            yield {
              ...event,
              text: text && gap + text,
              ...(usage && { usage: sumOf(reported, usage) }),
              ...(passages && progress.passages && { passages: progress.passages }),
            };
            if (text !== '') gap = '';
          }
          outcome = cleaned(next.value);
        } catch (error) {
          outcome = bounds.outcomeOf(error);
        } finally {
          await running.return({ output: null });
        }
        errorCode = 'error' in outcome ? outcome.error.code : undefined;
      } finally {
        if (span) closeNodeSpan(span, errorCode);
        bounds.clear();
      }
      contextTokens = used.contextTokens || contextTokens;
      reported = { ...sumOf(reported, used), contextTokens: 0 };
      progress = withSpent(progress, used, { ...sumOf(progress.usage, used), contextTokens: 0 });
      if (used !== noUsage) yield { text: '', usage: reported };
      if ('error' in outcome && streamed !== '') {
        // What is said next is a paragraph of its own.
        gap = '\n\n';
        streamed = '';
      }
      progress = { ...progress, state: engine.resume(definition, progress.state, effect.key, outcome) };
    }
  } finally {
    limit.clear();
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

/** What of a response is still to be said after what its model was seen to write. */
function unsaid(streamed: string, text: string): string {
  // Else it was longer than an output may be, and all of it is said.
  return text.startsWith(streamed) ? text.slice(streamed.length) : '';
}

/** The time that finished nodes took counts for whoever takes the run over. */
function msSpent({ trace }: WorkflowState): number {
  return trace.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
}

function turnLimit(ms: number) {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), Math.max(0, ms));
  return {
    signal: over.signal,
    throwIfOver(): void {
      if (over.signal.aborted) throw turnTimeout();
    },
    clear: () => clearTimeout(timer),
  };
}

function turnTimeout(): DomainError {
  return new DomainError('unavailable', 'The workflow took too long', { reason: 'TURN_TIMEOUT' });
}

/** The signal of an effect, which the caller, the turn's limit and the node's own may abort. */
function boundsOf({ timeoutMs }: WorkflowEffect, caller: AbortSignal, turn: AbortSignal) {
  const node = new AbortController();
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => node.abort(), timeoutMs);
  return {
    signal: AbortSignal.any([caller, turn, node.signal]),
    clear: () => clearTimeout(timer),
    /** @throws what ends the turn and not only the node */
    outcomeOf(error: unknown): EffectOutcome {
      caller.throwIfAborted();
      if (turn.aborted) throw turnTimeout();
      if (node.signal.aborted) {
        return { error: { code: 'NODE_TIMEOUT', message: `The node took longer than ${timeoutMs} ms` } };
      }
      const code = isDomainError(error) ? modelFailures[error.reason ?? ''] : undefined;
      if (code === undefined || !isDomainError(error)) throw error;
      return { error: { code, message: error.message } };
    },
  };
}

/** The errors of `turnError`. */
const modelFailures: Record<string, string> = {
  MODEL_UNAVAILABLE: 'MODEL_UNAVAILABLE',
  MODEL_FAILED: 'MODEL_FAILED',
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

/** Without what PostgreSQL does not store, in messages and in what is searched. */
function cleaned(outcome: EffectOutcome): EffectOutcome {
  return 'error' in outcome ? outcome : { output: cleanedJson(outcome.output) };
}

function cleanedJson(json: Json): Json {
  if (typeof json === 'string') return json.replaceAll('\0', '').toWellFormed();
  if (Array.isArray(json)) return json.map(cleanedJson);
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => [cleanedJson(key) as string, cleanedJson(value)]),
  );
}
