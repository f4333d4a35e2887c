import { isDeepStrictEqual } from 'node:util';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, conflict, invalid } from '@parley/kernel/errors';
import { requireId } from '@parley/kernel/row-id';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Ports } from '../ports.ts';
import { definitionIssues } from './definition-issues.ts';
import { inWorkflow } from './in-workflow.ts';
import type { Workflow } from './workflow.ts';
import { workflowStore } from './workflow-store.ts';
import { workflowVersionStore } from './workflow-version-store.ts';

const maxChecks = 3;

/**
 * Publishes the draft as the next version. Nothing changes if the draft equals the published version, so that a retry or a concurrent call
 * creates no second version.
 * @throws DomainError `notFound` if the workflow is absent or deleted
 * @throws DomainError `invalid` with every problem of the draft
 * @throws DomainError `conflict` if the draft keeps changing
 */
export async function publishWorkflow(ports: Ports, request: TenantRequest, workflowId: number): Promise<Workflow> {
  const id = requireId('Workflow', workflowId);
  for (let checks = 0; checks < maxChecks; checks += 1) {
    // Other services are called before the row is locked.
    const { draft } = await ports.database.read(request.caller.tenantId, (db) => workflowStore(db).get(id));
    const issues = await definitionIssues(ports, request, draft);
    if (issues.length > 0) throw invalid(...issues.map((issue) => ({ ...issue, path: pathOf(issue.path) })));
    const published = await inWorkflow(ports, request, id, async (db, workflow) =>
      isDeepStrictEqual(workflow.draft, draft) ? publish(ports, request, db, workflow) : undefined,
    );
    if (published) return published;
  }
  throw conflict(`The draft of workflow ${id} is being changed`, 'DRAFT_CHANGED');
}

function pathOf(path: string): string {
  return path === '' ? 'draft' : `draft.${path}`;
}

async function publish(
  { workflows: limits }: Pick<Ports, 'workflows'>,
  { caller }: TenantRequest,
  db: TenantDb,
  { id, draft, published, publishedVersion }: Workflow,
): Promise<Workflow> {
  const store = workflowStore(db);
  if (isDeepStrictEqual(draft, published)) return store.get(id);
  const version = (publishedVersion ?? 0) + 1;
  if (version > limits.versions) {
    throw badRequest(`A workflow has at most ${limits.versions} versions`, 'LIMIT_REACHED');
  }
  await workflowVersionStore(db, id).insert({ version, definition: draft, publishedBy: caller.userId ?? null });
  return store.update(id, { publishedVersion: version });
}
