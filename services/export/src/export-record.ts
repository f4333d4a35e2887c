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

/** The prefix of the files of all exports of a tenant. */
export function exportsPrefix(tenantId: number): string {
  return `${tenantPrefix(tenantId)}exports/`;
}

/** The prefix of the files that attempts at one export have stored; no other export refers to them. */
export function filesPrefix({ tenantId, id }: Pick<ExportRecord, 'tenantId' | 'id'>): string {
  return `${exportsPrefix(tenantId)}${id}/`;
}
