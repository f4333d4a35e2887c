import { ExportServiceDefinition } from '@parley/protos/parley/export/v1/export';
import { s3Files } from '@parley/s3/s3-files';
import { service } from '@parley/service/service';
import { exportDeclaration } from './declaration.ts';
import { tenantEnd } from './end-tenant.ts';
import { exportMetrics } from './export-metrics.ts';
import type { Ports } from './ports.ts';
import { removeFileJob, removeJob } from './remove-export.ts';
import { renderJob, renderLargeJob } from './render-export.ts';
import { renderer } from './renderer.ts';
import { exportRpc } from './rpc.ts';

/** The unit `export`. The constant has another name, because `export` is a reserved word. */
export const studyKitExport = service(exportDeclaration, {
  dependencies: ({ config, database, objectStore, calls, metrics, log }): Ports => ({
    database,
    objects: objectStore,
    ...calls,
    renderer: renderer(config),
    limits: config,
    fallback: config.fallback,
    metrics: exportMetrics(metrics),
    log,
  }),
  parts: (ports) => [ports.renderer],
  files: s3Files,
  jobs: [renderJob, renderLargeJob, (ports) => removeJob(ports), (ports) => removeFileJob(ports)],
  onTenantEnd: tenantEnd,
  rpc: { definition: ExportServiceDefinition, implementation: exportRpc },
});
