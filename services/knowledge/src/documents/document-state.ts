import { badRequest } from '@parley/kernel/errors';
import type { KnowledgeDocument } from '../knowledge.ts';

/** @throws DomainError `invalid` while the document's file is being read: its text is still to come */
export function refuseWhileParsing({ id, parseStatus }: KnowledgeDocument): void {
  if (parseStatus === 'PENDING' || parseStatus === 'PARSING') {
    throw badRequest(`Document ${id} is ${parseStatus}; wait until it is READY or FAILED`);
  }
}
