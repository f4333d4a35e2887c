import { badRequest, type DomainError } from '@parley/kernel/errors';
import type { WorkflowFailure } from '../workflow/state.ts';

/**
 * Returns the error of a failed workflow. It names the node and the code of the node's error. The message of that error
 * is included only for limits, where it comes from the engine; other messages may quote data.
 */
export function workflowFailure({ code, nodeId, error }: WorkflowFailure): DomainError {
  const what = code === 'WORKFLOW_LIMIT' ? `${error.code}: ${error.message}` : error.code;
  return badRequest(`The node ${nodeId} of the workflow failed: ${what}`, code);
}

export function workflowNotPublished(): DomainError {
  return badRequest('The workflow is not published', 'WORKFLOW_NOT_PUBLISHED');
}
