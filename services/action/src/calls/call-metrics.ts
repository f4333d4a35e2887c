import type { Metrics } from '@parley/kernel/telemetry/metrics';
import type { CallKind } from './outbound-call.ts';

export type CallMetrics = ReturnType<typeof callMetrics>;

export function callMetrics(metrics: Pick<Metrics, 'durations'>) {
  const durations = metrics.durations('parley_action_call_duration_seconds', 'Calls of connectors and custom actions', [
    'kind',
    'error',
  ]);
  return {
    /**
     * Records a finished call.
     * @param errorKind one of the kinds of `CallResult.error_kind`, never text of the remote server, so that the label has few values
     */
    over(kind: CallKind, errorKind: string | null, durationMs: number): void {
      durations.observe({ kind, error: errorKind ?? 'none' }, durationMs / 1_000);
    },
  };
}
