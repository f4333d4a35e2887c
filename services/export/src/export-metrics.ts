import type { Metrics } from '@parley/kernel/telemetry/metrics';

export type ExportMetrics = ReturnType<typeof exportMetrics>;

export function exportMetrics(metrics: Metrics) {
  const ended = metrics.counter('parley_exports_total', 'Exports that have ended, by outcome', ['outcome']);
  const attempts = metrics.counter(
    'parley_export_attempts_failed_total',
    'Attempts at rendering that failed, by cause',
    ['problem'],
  );
  const durations = metrics.durations('parley_export_render_seconds', 'How long rendering a document took', []);
  const pages = metrics.counter('parley_export_pages_total', 'Pages that were rendered', []);
  // Alerts notice the first increment only if the counter already has a value.
  for (const outcome of ['rendered', 'reused', 'failed', 'fallback'] as const) ended.add({ outcome }, 0);
  return {
    ended: (outcome: 'rendered' | 'reused' | 'failed' | 'fallback') => ended.add({ outcome }),
    attemptFailed: (problem: string) => attempts.add({ problem }),
    rendered: (count: number) => pages.add({}, count),
    /** @returns a function to call when the rendering ends. */
    rendering: () => durations.startTimer({}),
  };
}
