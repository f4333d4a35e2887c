import type { Part } from '@parley/kernel/processes/unit';
import { type SpendMeter, spendMeter } from '@parley/metering/spend-meter';
import { outbound } from '@parley/outbound/outbound';
import { KnowledgeServiceDefinition } from '@parley/protos/parley/knowledge/v1/knowledge';
import { s3Files } from '@parley/s3/s3-files';
import { service } from '@parley/service/service';
import { subgraphOf } from '@parley/subgraph/subgraph-of';
import { failedMoves, modelChange, moveBaseJob } from './bases/move-base.ts';
import { knowledgeDeclaration } from './declaration.ts';
import { meteredEmbedder } from './embeddings/metered-embedder.ts';
import { resolvers } from './graph/resolvers.ts';
import { indexJob } from './indexing/index-document.ts';
import { generationSweep } from './indexing/sweep-generations.ts';
import { pageReader } from './pages/page-reader.ts';
import { watchJob } from './parsing/watch-parsing.ts';
import type { Ports } from './ports.ts';
import { tenantQuotas } from './quotas/quotas.ts';
import { failedSearches } from './retrieval/retrieve-passages.ts';
import { workQueues } from './retrieval/work-queues.ts';
import { knowledgeRpc } from './rpc.ts';
import { removeObjectJob } from './uploads/remove-object.ts';
import { checkJob, settleJob } from './uploads/settle-upload.ts';

type Dependencies = Ports & { embedder: Part; meter: SpendMeter; failedMoves: ReturnType<typeof failedMoves> };

export const knowledge = service(knowledgeDeclaration, {
  dependencies({ config, database, objectStore, calls, development, log, metrics }): Dependencies {
    const meter = spendMeter({ unit: 'knowledge', ledger: calls.identity, log });
    const embedder = meteredEmbedder({ settings: config.embeddings, meter, development, log, metrics });
    return {
      database,
      objects: objectStore,
      ...calls,
      embedder,
      meter,
      failedMoves: failedMoves(metrics),
      exactLimit: config.exactLimit,
      quotas: tenantQuotas(calls.identity),
      queues: workQueues(),
      pages: pageReader(outbound({ ...config.outbound, log })),
      parseWaitMs: config.parseWaitMs,
      openUploads: config.openUploads,
      failedSearches: failedSearches(metrics),
      log,
    };
  },
  parts: ({ meter, embedder, ...ports }) => [
    meter,
    embedder,
    generationSweep(ports),
    modelChange({ embedder, ...ports }),
  ],
  jobs: [(ports) => removeObjectJob(ports), (ports) => moveBaseJob(ports), checkJob, settleJob, watchJob, indexJob],
  files: s3Files,
  onTenantEnd: { nothingBecause: 'bases are read and written by callers of their tenant only, and those are refused' },
  rpc: { definition: KnowledgeServiceDefinition, implementation: (ports) => knowledgeRpc(ports) },
  graph: subgraphOf({
    schema: new URL('schema.graphql', import.meta.url),
    resolvers,
  }),
});
