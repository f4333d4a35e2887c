import type { Export } from '@parley/protos/parley/export/v1/export';
import type { ExportKind, ExportRecordDto, ExportStatus } from './generated/schema.ts';

/** Converts an export of the export service to the form that clients get. @throws Error if the service's response contains no export */
export function exportRecord(found: Export | undefined): ExportRecordDto {
  if (!found?.createdAt || !found.updatedAt) throw new Error('export answered without an export');
  const { id, kind, status, downloadUrl, errorMessage, fileSizeBytes, createdAt, updatedAt } = found;
  return {
    id,
    kind: kind as ExportKind,
    status: status as ExportStatus,
    downloadUrl: downloadUrl ?? null,
    errorMessage: errorMessage ?? null,
    fileSizeBytes: fileSizeBytes ?? null,
    createdAt,
    updatedAt,
  };
}
