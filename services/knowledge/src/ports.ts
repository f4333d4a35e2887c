import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import type { ObjectStore } from '@parley/objects/object-store';
import type { Database } from '@parley/postgres/database/types';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import type { Embedder } from './embeddings/embedder.ts';
import type { PageReader } from './pages/page-reader.ts';
import type { TenantQuotas } from './quotas/quotas.ts';
import type { WorkQueues } from './retrieval/work-queues.ts';

export interface Ports {
  database: Database;
  /** The object store of all tenants; use `tenantObjects`. */
  objects: ObjectStore;
  identity: Pick<RpcClient<IdentityServiceDefinition>, 'getTenant'>;
  embedder: Embedder;
  exactLimit: number;
  quotas: TenantQuotas;
  queues: WorkQueues;
  pages: PageReader;
  /** Time in ms after which an uploaded document that is not parsed is queued again. */
  parseWaitMs: number;
  openUploads: number;
  /** Counts bases that are missing in a search result because their search failed. */
  failedSearches: Pick<ReturnType<Metrics['counter']>, 'add'>;
  log: Logger;
}
