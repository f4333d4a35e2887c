import { inTenant } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import { withoutNulls } from '@parley/kernel/input';
import { type KnowledgeServiceImplementation, Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { MeshContext } from '@parley/rpc/server';
import { checkKnowledgeBases } from './check-knowledge-bases.ts';
import type { Ports } from './ports.ts';
import { retrievePassages } from './retrieve-passages.ts';

// STUB: each method is built by its part
export function knowledgeRpc(ports: Ports): KnowledgeServiceImplementation<MeshContext> {
  const notBuilt = async () => {
    throw unavailable('not built yet');
  };
  return {
    checkKnowledgeBases: async ({ knowledgeBaseIds }, { caller }) => {
      await checkKnowledgeBases(ports, inTenant(caller), knowledgeBaseIds);
      return {};
    },
    retrieve: async (request, { caller, signal }) => ({
      passages: (await retrievePassages(ports, inTenant(caller), request, signal)).map((found) =>
        Passage.fromPartial(withoutNulls(found)),
      ),
    }),
    beginDocument: notBuilt,
    completeDocument: notBuilt,
    failDocument: notBuilt,
  };
}
