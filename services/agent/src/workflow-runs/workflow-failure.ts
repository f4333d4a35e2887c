import { badRequest, type DomainError } from '@parley/kernel/errors';
import type { WorkflowFailure } from '../workflow/state.ts';

/** Names the node and the kind of its error, because messages of templates may quote data; those of limits are the engine's own. */
export function workflowFailure({ code, nodeId, error }: WorkflowFailure): DomainError {
  const what = code === 'WORKFLOW_LIMIT' ? `${error.code}: ${error.message}` : error.code;
  return badRequest(`The node ${nodeId} of the workflow failed: ${what}`, code);
}

export function workflowNotPublished(): DomainError {
  return badRequest('The workflow is not published', 'WORKFLOW_NOT_PUBLISHED');
}
