import type { TenantCaller } from '@parley/kernel/caller';
import type { Ports } from './ports.ts';

/** @throws DomainError `notFound`: one is absent, deleted or another tenant's; `unavailable` */
export async function checkKnowledgeBases(
  { knowledge }: Pick<Ports, 'knowledge'>,
  caller: TenantCaller,
  knowledgeBaseIds: number[],
): Promise<void> {
  if (knowledgeBaseIds.length === 0) return;
  await knowledge.checkKnowledgeBases({ knowledgeBaseIds }, { caller, expectedErrors: ['notFound'] });
}
