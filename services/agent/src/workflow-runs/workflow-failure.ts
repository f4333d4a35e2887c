import { badRequest, type DomainError } from '@parley/kernel/errors';
import type { WorkflowFailure } from '../workflow/state.ts';

/**
 * The error of a failed workflow. It names the node and the kind of its error, but not its message, which may quote
 * data. Messages about limits come from the engine and are included.
 */
export function workflowFailure({ code, nodeId, error }: WorkflowFailure): DomainError {
  const what = code === 'WORKFLOW_LIMIT' ? `${error.code}: ${error.message}` : error.code;
  return badRequest(`The node ${nodeId} of the workflow failed: ${what}`, code);
}

export function workflowNotPublished(): DomainError {
  return badRequest('The workflow is not published', 'WORKFLOW_NOT_PUBLISHED');
}
