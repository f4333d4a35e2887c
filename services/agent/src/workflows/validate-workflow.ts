import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import { storageProblem } from '@parley/kernel/input-checks';
import type { Ports } from '../ports.ts';
import type { WorkflowIssue } from '../workflow/definition.ts';
import { definitionIssues } from './definition-issues.ts';

/**
 * Returns the problems of a definition; none if it could be published.
 * @throws DomainError `invalid` for input that no draft may contain; `unavailable` and `tooManyRequests` as in `definitionIssues`
 */
export async function validateWorkflow(
  ports: Pick<Ports, 'knowledge' | 'action'>,
  request: TenantRequest,
  definition: unknown,
): Promise<WorkflowIssue[]> {
  const unstorable = storageProblem(definition);
  if (unstorable) throw invalid({ path: 'definition', message: unstorable });
  return definitionIssues(ports, request, definition);
}
