import type { Metrics } from '@parley/kernel/metrics';
import type { Problem } from './file-problem.ts';
import type { FileType } from './file-types.ts';

export type ParseMetrics = ReturnType<typeof parseMetrics>;

export function parseMetrics(metrics: Metrics) {
  const documents = metrics.counter('parley_parser_documents_total', 'Documents parsed, by type and outcome', [
    'type',
    'outcome',
  ]);
  const durations = metrics.durations('parley_parser_read_seconds', 'How long reading a document took', ['type']);
  return {
    outcome: (type: FileType, outcome: 'parsed' | Problem) => documents.add({ type, outcome }),
    endedItsReaders: () => documents.add({ type: 'unknown', outcome: 'endedItsReaders' }),
    /** Returns what to call at the end. */
    read: (type: FileType) => durations.startTimer({ type }),
  };
}
