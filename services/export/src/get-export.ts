import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { tenantObjects } from '@parley/objects/tenant-objects';
import { type ExportRecord, pdf } from './export-record.ts';
import { exportStore } from './export-store.ts';
import type { Ports } from './ports.ts';

/** An export as returned to a reader, with a download link, which is not stored. */
export type ReadExport = ExportRecord & { downloadUrl: string | undefined };

const hourMs = 60 * 60 * 1_000;
const linkMs = { READY: 24 * hourMs, FALLBACK_READY: 7 * 24 * hourMs };

/**
 * Returns an export.
 * @throws DomainError `notFound` if the export is absent or belongs to another tenant, or if the caller's session token belongs to another
 * session
 */
export async function getExport(ports: Ports, { caller }: TenantRequest, id: number): Promise<ReadExport> {
  const { tenantId, kind, sessionId } = caller;
  const found = await ports.database.transact(tenantId, (db) => exportStore(db).find(id));
  if (!found || (kind === 'session' && found.sessionId !== sessionId)) throw notFound('Export', id);
  return withLink(ports, found);
}

/** Signs a link to the file of the export, if it has one. */
export async function withLink({ objects }: Pick<Ports, 'objects'>, record: ExportRecord): Promise<ReadExport> {
  const { tenantId, sessionId, status, objectKey } = record;
  if (objectKey === null || !(status === 'READY' || status === 'FALLBACK_READY'))
    return { ...record, downloadUrl: undefined };
  const { url } = await tenantObjects(objects, tenantId).presignGet({
    key: objectKey,
    expiresInMs: linkMs[status],
    fileName: `study-kit-${sessionId}.pdf`,
    contentType: pdf,
  });
  return { ...record, downloadUrl: url };
}
