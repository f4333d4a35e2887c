import { context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { WorkflowTraceStep } from '../workflow/state.ts';

type BegunStep = Pick<WorkflowTraceStep, 'nodeId' | 'kind' | 'visit' | 'startedAt'>;

const tracer = () => trace.getTracer('parley.workflows');

/** Opens the span of a node that makes calls; the spans of these calls are its children. The span contains ids and codes, never data. */
export function openNodeSpan(step: BegunStep): Span {
  return tracer().startSpan(`workflow.node ${step.kind}`, {
    startTime: step.startedAt,
    attributes: attributesOf(step),
  });
}

export interface NodeEnd {
  /** The code of the node's error. Undefined if the node succeeded; null if the turn was abandoned. */
  errorCode: string | null | undefined;
  /** Usage of the node's calls. */
  used?: Pick<TurnUsage, 'tokensIn' | 'tokensOut' | 'costUsdE8'>;
  /** When the node ended, in ms since 1970. Default: now. */
  endTime?: number;
}

/** Ends a span. If the node asked models, records their tokens and cost, which the trace also contains. */
export function closeNodeSpan(span: Span, { errorCode, used, endTime }: NodeEnd): void {
  if (used && (used.tokensIn > 0 || used.tokensOut > 0)) {
    span.setAttributes({
      'gen_ai.usage.input_tokens': used.tokensIn,
      'gen_ai.usage.output_tokens': used.tokensOut,
      'parley.cost_usd': Number(used.costUsdE8) / 1e8,
    });
  }
  if (errorCode === null) span.setAttribute('parley.cancelled', true);
  else if (errorCode !== undefined) {
    span.setAttribute('error.type', errorCode);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(endTime);
}

/** Records the spans of nodes that ran to their end without waiting for a call. */
export function recordNodeSpans(steps: readonly WorkflowTraceStep[]): void {
  for (const step of steps) {
    if (step.durationMs !== null) {
      closeNodeSpan(openNodeSpan(step), { errorCode: step.error?.code, endTime: step.startedAt + step.durationMs });
    }
  }
}

/** Reads a stream within a span, which becomes the parent of the spans that the stream opens. */
export async function* within<Event, Result>(
  span: Span,
  events: AsyncGenerator<Event, Result>,
): AsyncGenerator<Event, Result> {
  const inSpan = trace.setSpan(context.active(), span);
  let isDone = false;
  try {
    for (;;) {
      const next = await context.with(inSpan, () => events.next());
      isDone = next.done === true;
      if (next.done) return next.value;
      yield next.value;
    }
  } finally {
    if (!isDone) await events.return(undefined as never);
  }
}

function attributesOf({ nodeId, kind, visit }: BegunStep) {
  return { 'parley.workflow.node': nodeId, 'parley.workflow.kind': kind, 'parley.workflow.visit': visit };
}
