import type { TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError, notFound } from '@parley/kernel/errors';
import { requireId } from '@parley/kernel/row-id';
import { exportRecord } from './export-record.ts';
import type { ExportRecordDto } from './generated/schema.ts';
import type { Ports } from './ports.ts';

/** With a link made for this answer. @throws DomainError `notFound`, also for another session's with a session token */
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
