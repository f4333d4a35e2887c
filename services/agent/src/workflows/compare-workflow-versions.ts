import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Operation } from 'rfc6902';
import type { QueryCompareWorkflowVersionsArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { sharedPatch } from './json-patch.ts';
import { workflowStore } from './workflow-store.ts';
import { workflowVersionStore } from './workflow-version-store.ts';

/**
 * Returns the RFC 6902 patch from one version to another, or to the draft. @throws DomainError `notFound` if the workflow or a version is
 * absent
 */
export async function compareWorkflowVersions(
  { database }: Pick<Ports, 'database'>,
  request: TenantRequest,
  { workflowId, from, to }: QueryCompareWorkflowVersionsArgs,
): Promise<Operation[]> {
  const [before, after] = await database.transact(request.caller.tenantId, async (db) => {
    const { id, draft } = await workflowStore(db).get(workflowId);
    const versions = workflowVersionStore(db, id);
    const { definition } = await versions.get(from);
    return [definition, to == null ? draft : (await versions.get(to)).definition];
  });
  return sharedPatch(request, before, after);
}
