import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest } from '@parley/kernel/errors';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import { shareChecks } from '../workflow/share-processor.ts';
import { isValid } from '../workflow/validate.ts';

/**
 * Validates a draft and returns it as a definition. Must not run in a transaction, because the check waits for the processor.
 * @throws DomainError `invalid` if the draft has problems
 */
export async function checkedDraft(
  request: Pick<TenantRequest, 'caller' | 'signal'>,
  draft: unknown,
): Promise<WorkflowDefinition> {
  const { found } = await shareChecks(request, () => ({ found: isValid(draft) ? draft : undefined }), true);
  if (found) return found;
  throw badRequest('The draft of the workflow is not valid; validateWorkflow names the problems', 'WORKFLOW_FAILED');
}
