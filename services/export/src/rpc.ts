import { tenantRequest } from '@parley/kernel/caller-request';
import type { Export, ExportServiceImplementation } from '@parley/protos/parley/export/v1/export';
import type { MeshContext } from '@parley/rpc/server';
import { getExport, type ReadExport, withLink } from './get-export.ts';
import type { Ports } from './ports.ts';
import { requestExport } from './request-export.ts';

export function exportRpc(ports: Ports): ExportServiceImplementation<MeshContext> {
  return {
    requestExport: async (given, call) => {
      // Returns the export as created, even if it is already being rendered.
      const requested = await requestExport(ports, tenantRequest(call), given);
      return { export: protoExport(await withLink(ports, requested)) };
    },
    getExport: async ({ id }, call) => ({ export: protoExport(await getExport(ports, tenantRequest(call), id)) }),
  };
}

function protoExport({ errorMessage, fileSizeBytes, ...record }: ReadExport): Export {
  const { id, kind, status, downloadUrl, createdAt, updatedAt } = record;
  return {
    id,
    kind,
    status,
    downloadUrl,
    errorMessage: errorMessage ?? undefined,
    fileSizeBytes: fileSizeBytes ?? undefined,
    createdAt,
    updatedAt,
  };
}
