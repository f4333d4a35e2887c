import type { Logger } from '@parley/kernel/telemetry/log';
import type { ObjectStore } from '@parley/objects/object-store';
import type { Database } from '@parley/postgres/database/types';
import type { KnowledgeServiceDefinition } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { RpcClient } from '@parley/rpc/client';
import type { DocumentReader } from './document-reader.ts';
import type { ParseMetrics } from './parse-metrics.ts';

export interface Ports {
  database: Database;
  /** The object store, with the objects of all tenants. Use it only through `tenantObjects`. */
  objects: ObjectStore;
  knowledge: Pick<RpcClient<KnowledgeServiceDefinition>, 'beginDocument' | 'completeDocument' | 'failDocument'>;
  reader: DocumentReader;
  metrics: ParseMetrics;
  log: Logger;
}
