import { tenantPrefix } from '@parley/objects/object-keys';
import { column, type RowOf, table } from '@parley/postgres/database/table';

export type ExportStatus = 'PENDING' | 'RENDERING' | 'READY' | 'FAILED' | 'FALLBACK_READY';

export const exportRecords = table('export_records', {
  id: column<number>(),
  tenantId: column<number>(),
  sessionId: column<number>(),
  agentId: column<number>(),
  kind: column<'STUDY_KIT'>(),
  status: column<ExportStatus>(),
  errorMessage: column<string | null>(),
  objectKey: column<string | null>(),
  fileSizeBytes: column<number | null>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type ExportRecord = RowOf<typeof exportRecords>;

export const pdf = 'application/pdf';

/** Returns the key prefix that the files of all exports of a tenant have. */
export function exportsPrefix(tenantId: number): string {
  return `${tenantPrefix(tenantId)}exports/`;
}

/** Returns the key of the operator's fallback document. The tenant's exports share this file; it is kept until the tenant is deleted. */
export function fallbackKey(tenantId: number, hash: string): string {
  return `${exportsPrefix(tenantId)}fallback/${hash}.pdf`;
}

/**
 * Returns the key prefix of the files that were stored by attempts to render this export. Later exports of the same content may refer to
 * these files.
 */
export function filesPrefix({ tenantId, id }: Pick<ExportRecord, 'tenantId' | 'id'>): string {
  return `${exportsPrefix(tenantId)}${id}/`;
}
