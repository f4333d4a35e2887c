import { unavailable } from '@parley/kernel/errors';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { ParserConfig } from './config.ts';
import type { Ports } from './ports.ts';

export interface ParseDocumentJob {
  documentId: number;
  version: number;
}

export const parseKind = 'parser.parse';

// STUB: replaced by the part that builds it
export function parseJob(_ports: Ports, { concurrency, perTenant, leaseMs }: ParserConfig): JobDeclaration {
  return job<ParseDocumentJob>({
    kind: parseKind,
    concurrency,
    perTenantLimit: perTenant,
    leaseMs,
    handler: async () => {
      throw unavailable('not built yet');
    },
  });
}
