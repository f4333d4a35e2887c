import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';

/**
 * @throws DomainError `notFound`: a knowledge base is absent, deleted or another tenant's
 * @throws DomainError `unavailable`: the knowledge service cannot be reached
 */
export async function checkKnowledgeBases(
  { knowledge }: Pick<Ports, 'knowledge'>,
  { caller }: TenantRequest,
  knowledgeBaseIds: number[],
): Promise<void> {
  if (knowledgeBaseIds.length === 0) return;
  await knowledge.checkKnowledgeBases({ knowledgeBaseIds }, { caller, expectedErrors: ['notFound'] });
}
