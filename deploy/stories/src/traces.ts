import { eventually } from '@parley/testing/eventually';
import type { Observed, Span } from './observe.ts';

/**
 * Spans from the root of a trace inwards, each as `unit: name`, where the name is a regular expression. The element `linked` continues in
 * another trace: the next element is the root span of that trace, which has a link to the previous span or to a span within it.
 */
export type Path = string[];

/** Returns the spans of everything that these requests caused. Other tests may use the mesh at the same time. */
export function spansOf(observed: Observed, requestIds: ReadonlySet<string>): Span[] {
  const lines = observed
    .log()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'));
  const logged = lines.map((line) => JSON.parse(line) as { requestId: string; traceId?: string });
  const traces = new Set(logged.flatMap(({ requestId, traceId }) => (requestIds.has(requestId) && traceId) || []));
  const spans = observed.spans();
  // The handling of an event has its own trace, with a link to the trace that published it.
  const linked = spans.flatMap(({ traceId, links = [] }) =>
    links.some((link) => traces.has(link.traceId)) ? traceId : [],
  );
  const all = new Set([...traces, ...linked]);
  return spans.filter(({ traceId }) => all.has(traceId));
}

/**
 * Waits until all paths are found, because each process sends its spans at its own pace. If a path has alternatives, one is enough.
 * @returns the names of the paths that were not found
 */
export async function missingPaths(
  spans: () => readonly Span[],
  paths: Record<string, Path | Path[]>,
): Promise<string[]> {
  const missing = () => {
    const all = spans();
    return Object.entries(paths).flatMap(([name, path]) =>
      alternatives(path).some((each) => beginsWith(all, each)) ? [] : name,
    );
  };
  await eventually('all paths are there', () => missing().length === 0).catch(() => undefined);
  return missing();
}

const alternatives = (path: Path | Path[]) => (typeof path[0] === 'string' ? [path as Path] : (path as Path[]));

function beginsWith(spans: readonly Span[], [root, ...path]: Path): boolean {
  return spans.some((span) => !span.parentSpanId && matches(span, root) && leadsTo(spans, span, path));
}

function leadsTo(spans: readonly Span[], from: Span, [step, ...path]: Path): boolean {
  if (step === undefined) return true;
  if (step === 'linked') {
    const causes = new Set([from, ...within(spans, from)].map(({ spanId }) => spanId));
    const effects = spans.filter(({ links = [] }) => links.some(({ spanId }) => causes.has(spanId)));
    const [next, ...rest] = path;
    return effects.some(
      (effect) => effect.traceId !== from.traceId && matches(effect, next) && leadsTo(spans, effect, rest),
    );
  }
  return within(spans, from).some((span) => matches(span, step) && leadsTo(spans, span, path));
}

function matches({ name, service }: Span, step = ''): boolean {
  const [unit, pattern] = step.split(': ');
  // All units in one process have the same service name.
  const isOfUnit = service === `parley-${unit}` || service === 'parley';
  return isOfUnit && new RegExp(`^${pattern}$`, 'u').test(name);
}

/** Returns all descendants of a span. */
function within(spans: readonly Span[], { spanId }: Span): Span[] {
  const children = spans.filter(({ parentSpanId }) => parentSpanId === spanId);
  return [...children, ...children.flatMap((child) => within(spans, child))];
}
