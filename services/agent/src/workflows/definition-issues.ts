import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import type { WorkflowIssue } from '../workflow/definition.ts';
import { shareChecks } from '../workflow/share-processor.ts';
import { boundedIssues, inspect } from '../workflow/validate.ts';
import { missingReferences } from './missing-references.ts';

/**
 * Returns the problems of a definition, including resources that the tenant does not have.
 * @param continues as in `shareChecks`
 * @throws DomainError `unavailable` if knowledge or action cannot be reached; `tooManyRequests` as in `shareChecks`
 */
export async function definitionIssues(
  ports: Pick<Ports, 'knowledge' | 'action'>,
  request: TenantRequest,
  definition: unknown,
  continues = false,
): Promise<WorkflowIssue[]> {
  const { issues, references } = await shareChecks(request, () => inspect(definition), continues);
  if (!references) return issues;
  const missing = await missingReferences(ports, request, references);
  return boundedIssues([...issues, ...missing]);
}
