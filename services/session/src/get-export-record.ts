import type { TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError, notFound } from '@parley/kernel/errors';
import { requireId } from '@parley/kernel/row-id';
import { exportRecord } from './export-record.ts';
import type { ExportRecordDto } from './generated/schema.ts';
import type { Ports } from './ports.ts';

/**
 * Reads an export, with a new download link. @throws DomainError `notFound`, also if a session token asks for an export
 * of another session
 */
export async function getExportRecord(
  ports: Ports,
  { caller }: TenantRequest,
  given: number,
): Promise<ExportRecordDto> {
  const id = requireId('Export', given);
  const { export: found } = await ports.export
    .getExport({ id }, { caller, expectedErrors: ['notFound'] })
    .catch((error: unknown) => {
      throw isDomainError(error, 'notFound') ? notFound('Export', id) : error;
    });
  return exportRecord(found);
}
