import { randomUUID } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { forbidden } from '@parley/kernel/errors';
import { exportRecord } from './export-record.ts';
import type { ExportRecordDto, MutationRequestStudyKitExportArgs } from './generated/schema.ts';
import type { Ports } from './ports.ts';
import { findSession } from './read-sessions.ts';
import { requireOwnSession } from './require-own-session.ts';

/**
 * Requests a study kit of the token's session. The export service commits the request with its job before this function returns.
 * @throws DomainError `forbidden` if the token belongs to another session, the session does not exist, or the tenant was deleted
 * @throws DomainError `tooManyRequests` if too many exports of the session or of its tenant wait, or too many of the session are stored
 * @throws DomainError `unavailable` if the export service does not respond
 */
export async function requestStudyKitExport(
  ports: Ports,
  request: TenantRequest,
  { sessionId }: Partial<MutationRequestStudyKitExportArgs>,
): Promise<ExportRecordDto> {
  const { caller, effectKey } = request;
  const own = caller.sessionId;
  if (sessionId != null) requireOwnSession(caller, sessionId);
  const session = own === undefined ? undefined : await findSession(ports, request, own);
  if (!session) throw forbidden('The session of this token is not there');
  const { export: made } = await ports.export.requestExport(
    // Always sends a key, so that the call can be retried if its response is lost.
    { sessionId: session.id, agentId: session.agentId, requestKey: effectKey ?? randomUUID() },
    { caller, expectedErrors: ['forbidden', 'tooManyRequests'] },
  );
  return exportRecord(made);
}
