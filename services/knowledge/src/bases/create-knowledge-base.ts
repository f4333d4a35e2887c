import type { TenantRequest } from '@parley/kernel/caller-request';
import { anyText, parseInput, rule, text, withoutNulls } from '@parley/kernel/input';
import { singleLineProblem } from '@parley/text/single-line';
import { z } from 'zod';
import type { CreateKnowledgeBaseInput } from '../generated/schema.ts';
import type { KnowledgeBase } from '../knowledge.ts';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { baseModelStore } from './base-model-store.ts';
import { baseStore } from './base-store.ts';

const newBase = z.object({ name: text(200).check(rule(singleLineProblem)), description: anyText(2_000).optional() });

/** @throws DomainError `invalid` if the input is malformed, or if the plan has no room for another base */
export async function createKnowledgeBase(
  ports: Ports,
  { caller }: TenantRequest,
  input: CreateKnowledgeBaseInput,
): Promise<KnowledgeBase> {
  const { name, description = null } = parseInput(newBase, withoutNulls(input));
  const quotas = await ports.quotas(caller);
  return ports.database.transact(
    caller.tenantId,
    async (db) => {
      await usageStore(db).change({ knowledgeBases: 1 }, quotas);
      const base = await baseStore(db).insert({ name, description, embeddingModel: ports.embedder.model });
      await baseModelStore(db).register(db, base.id, base.embeddingModel, true);
      return base;
    },
    { lockQueue: usageQueueKey(caller.tenantId) },
  );
}
