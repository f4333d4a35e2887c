import { DocumentUploaded } from '@parley/protos/parley/knowledge/v1/events';
import { s3Files } from '@parley/s3/s3-files';
import { service } from '@parley/service/service';
import { parserDeclaration } from './declaration.ts';
import { documentReader } from './document-reader.ts';
import { onDocumentUploaded } from './on-document-uploaded.ts';
import { parseJob } from './parse-document.ts';
import { parseMetrics } from './parse-metrics.ts';
import type { Ports } from './ports.ts';

export const parser = service(parserDeclaration, {
  dependencies: ({ config, database, objectStore, calls, metrics, log }): Ports => ({
    database,
    objects: objectStore,
    ...calls,
    reader: documentReader({ ...config, maxProcesses: config.concurrency }),
    metrics: parseMetrics(metrics),
    log,
  }),
  parts: ({ reader }) => [reader],
  files: s3Files,
  jobs: [parseJob],
  consumes: {
    'document.uploaded.v1': { topic: 'document-uploaded', decode: DocumentUploaded.decode, handle: onDocumentUploaded },
  },
});
