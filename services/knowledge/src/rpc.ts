import { inTenant } from '@parley/kernel/caller';
import { withoutNulls } from '@parley/kernel/input';
import { type KnowledgeServiceImplementation, Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { MeshContext } from '@parley/rpc/server';
import { beginDocument } from './begin-document.ts';
import { checkKnowledgeBases } from './check-knowledge-bases.ts';
import { completeDocument } from './complete-document.ts';
import { failDocument } from './fail-document.ts';
import type { Ports } from './ports.ts';
import { retrievePassages } from './retrieve-passages.ts';

export function knowledgeRpc(ports: Ports): KnowledgeServiceImplementation<MeshContext> {
  return {
    checkKnowledgeBases: async ({ knowledgeBaseIds }, { caller }) => {
      await checkKnowledgeBases(ports, inTenant(caller), knowledgeBaseIds);
      return {};
    },
    retrieve: async (request, { caller, signal }) => {
      const search = () => retrievePassages(ports, inTenant(caller), request, signal);
      const { passages, ...answer } = await ports.turns.search(caller, signal, search);
      return { passages: passages.map((found) => Passage.fromPartial(withoutNulls(found))), ...answer };
    },
    beginDocument: async (parse, { caller }) => {
      const { objectKey, objectEtag, mimeType, fileSizeBytes, fileName } = await beginDocument(ports, caller, parse);
      const object = { objectKey: objectKey ?? '', objectEtag: objectEtag ?? '' };
      return { ...object, mimeType, sizeBytes: BigInt(fileSizeBytes), fileName };
    },
    completeDocument: async (parts, { caller }) => {
      await completeDocument(ports, caller, parts);
      return {};
    },
    failDocument: async (failure, { caller }) => {
      await failDocument(ports, caller, failure);
      return {};
    },
  };
}
