import type { Callers } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import type { Addresses } from '@parley/kernel/processes/addresses';
import {
  type CheckKnowledgeBasesRequest,
  type EmbeddingUsage,
  KnowledgeServiceDefinition,
  type ListKnowledgeBasesRequest,
  Passage,
  type RetrieveRequest,
} from '@parley/protos/parley/knowledge/v1/knowledge';
import { serveStub } from '@parley/testing/serve-stub';
import type { ExecutionContext } from 'ava';

/** A stub of the knowledge service's methods that the agent service calls. Tenant 1 has knowledge bases with the ids 1 to 9. */
export interface ScriptedKnowledge {
  /** Ids of deleted knowledge bases. */
  readonly deleted: Set<number>;
  /** Resolves with the passages of a search, or rejects with the search's error. */
  find: (request: RetrieveRequest, signal: AbortSignal) => Promise<Passage[]>;
  /** The embedding usage that each search reports. */
  usage: EmbeddingUsage | undefined;
  /** Whether searches fail after the query was embedded. */
  searchFails: boolean;
  readonly asked: RetrieveRequest[];
  readonly checked: number[][];
}

export function passage(chunkId: number, content: string, more: Partial<Passage> = {}): Passage {
  const documentName = `document-${chunkId}.md`;
  return Passage.fromPartial({ chunkId, documentId: 100 + chunkId, documentName, score: 0.5, content, ...more });
}

export async function scriptedKnowledge(
  t: Pick<ExecutionContext, 'teardown'>,
  { callers, addresses }: { callers: Callers; addresses: Addresses },
): Promise<ScriptedKnowledge> {
  const self: ScriptedKnowledge = {
    deleted: new Set(),
    find: async () => [],
    usage: undefined,
    searchFails: false,
    asked: [],
    checked: [],
  };
  const isThere = (tenantId: number | null, id: number) =>
    tenantId === 1 && id >= 1 && id <= 9 && !self.deleted.has(id);
  await serveStub(
    t,
    KnowledgeServiceDefinition,
    {
      async checkKnowledgeBases({ knowledgeBaseIds }: CheckKnowledgeBasesRequest, { caller }) {
        self.checked.push(knowledgeBaseIds);
        const absent = knowledgeBaseIds.find((id) => !isThere(caller.tenantId, id));
        if (absent !== undefined) throw notFound('Knowledge base', absent);
        return {};
      },
      async listKnowledgeBases({ knowledgeBaseIds }: ListKnowledgeBasesRequest, { caller }) {
        const asked = knowledgeBaseIds.length > 0 ? knowledgeBaseIds : [1, 2, 3, 4, 5, 6, 7, 8, 9];
        const found = asked.filter((id) => isThere(caller.tenantId, id));
        return { knowledgeBases: found.map((id) => ({ id, name: `Base ${id}`, description: '' })) };
      },
      async retrieve(request: RetrieveRequest, { signal }) {
        self.asked.push(request);
        const passages = self.searchFails ? [] : await self.find(request, signal);
        return { passages, usage: self.usage, searchFailed: self.searchFails };
      },
    },
    { callers, addresses },
  );
  return self;
}
