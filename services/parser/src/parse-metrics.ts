import type { Metrics } from '@parley/kernel/telemetry/metrics';
import type { Problem } from './file-problem.ts';
import type { FileType } from './file-types.ts';
import type { LossKind } from './losses.ts';

export type ParseMetrics = ReturnType<typeof parseMetrics>;

export function parseMetrics(metrics: Metrics) {
  const documents = metrics.counter('parley_parser_documents_total', 'Documents parsed, by type and outcome', [
    'type',
    'outcome',
  ]);
  const losses = metrics.counter(
    'parley_parser_losses_total',
    'What texts do not hold of their files, by type and kind',
    ['type', 'kind'],
  );
  const durations = metrics.durations('parley_parser_read_seconds', 'How long reading a document took', ['type']);
  return {
    outcome: (type: FileType, outcome: 'parsed' | Problem) => documents.add({ type, outcome }),
    loss: (type: FileType, kind: LossKind) => losses.add({ type, kind }),
    endedItsReaders: () => documents.add({ type: 'unknown', outcome: 'endedItsReaders' }),
    /** Starts to measure a reading. Returns the function to call when the reading ends. */
    read: (type: FileType) => durations.startTimer({ type }),
  };
}
