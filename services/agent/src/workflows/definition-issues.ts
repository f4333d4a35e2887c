import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import type { WorkflowIssue } from '../workflow/definition.ts';
import { shareProcessor } from '../workflow/share-processor.ts';
import { boundedIssues, inspect } from '../workflow/validate.ts';
import { missingReferences } from './missing-references.ts';

/** What is wrong with a definition, and what it names that the tenant does not have. @throws DomainError `unavailable` */
export async function definitionIssues(
  ports: Pick<Ports, 'knowledge' | 'action'>,
  request: TenantRequest,
  definition: unknown,
): Promise<WorkflowIssue[]> {
  const { issues, references } = await shareProcessor(request, () => inspect(definition));
  if (!references) return issues;
  const missing = await missingReferences(ports, request, references);
  return boundedIssues([...issues, ...missing]);
}
