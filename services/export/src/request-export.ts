import type { TenantRequest } from '@parley/kernel/caller-request';
import { DomainError, forbidden, invalid } from '@parley/kernel/errors';
import { textProblem } from '@parley/kernel/input';
import { requireId } from '@parley/kernel/row-id';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { ExportRecord } from './export-record.ts';
import { exportStore, type NewExport } from './export-store.ts';
import { isLiveTenant } from './live-tenant.ts';
import type { Ports } from './ports.ts';
import { removeLater } from './remove-export.ts';
import { type RenderExportJob, renderKind } from './render-export.ts';
import { requireOwnSession } from './require-own-session.ts';

/**
 * Stores an export with its render and removal jobs in one transaction, so that a confirmed export is rendered even if a process dies. The
 * same request key returns the same export.
 * @throws DomainError `forbidden` if the session token belongs to another session, or if the tenant was deleted
 * @throws DomainError `tooManyRequests` if too many exports wait or are kept
 * @throws DomainError `invalid` if the request key is malformed
 */
export async function requestExport(
  { database, limits }: Ports,
  { caller }: TenantRequest,
  given: NewExport,
): Promise<ExportRecord> {
  const { requestKey } = given;
  const sessionId = requireId('Session', given.sessionId);
  const agentId = requireId('Agent', given.agentId);
  requireOwnSession(caller, sessionId);
  const problem = textProblem(requestKey, 255);
  if (problem) throw invalid({ path: 'requestKey', message: problem });

  return database.transact(caller.tenantId, async (db) => {
    if (!(await isLiveTenant(db))) throw forbidden('The tenant was deleted', 'NO_TENANT');
    const store = exportStore(db);
    await store.lock();
    const known = await store.findByRequestKey(requestKey);
    if (known) {
      requireOwnSession(caller, known.sessionId);
      return known;
    }
    const counts = await store.count(sessionId);
    if (counts.waitingOfSession >= limits.waitingPerSession) {
      throw tooMany(`${counts.waitingOfSession} exports of this session are not rendered yet`);
    }
    if (counts.waitingOfTenant >= limits.waitingPerTenant) {
      throw tooMany(`${counts.waitingOfTenant} exports of this tenant are not rendered yet`);
    }
    if (counts.keptOfSession >= limits.keptPerSession) {
      throw tooMany(`This session has ${counts.keptOfSession} exports, as many as are kept`);
    }
    const made = await store.insert({ sessionId, agentId, requestKey });
    await jobs(db).append<RenderExportJob>({ kind: renderKind, key: String(made.id), data: { exportId: made.id } });
    await removeLater(db, made.id, limits.keptDays);
    return made;
  });
}

function tooMany(message: string): DomainError {
  return new DomainError('tooManyRequests', message, { reason: 'TOO_MANY_EXPORTS' });
}
