import { tenantRequest } from '@parley/kernel/caller-request';
import { withoutNulls } from '@parley/kernel/input';
import { type KnowledgeServiceImplementation, Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { MeshContext } from '@parley/rpc/server';
import { checkKnowledgeBases } from './bases/check-knowledge-bases.ts';
import { summarizeKnowledgeBases } from './bases/summarize-knowledge-bases.ts';
import { beginDocument } from './parsing/begin-document.ts';
import { completeDocument } from './parsing/complete-document.ts';
import { failDocument } from './parsing/fail-document.ts';
import type { Ports } from './ports.ts';
import { retrievePassages } from './retrieval/retrieve-passages.ts';

export function knowledgeRpc(ports: Ports): KnowledgeServiceImplementation<MeshContext> {
  return {
    checkKnowledgeBases: async ({ knowledgeBaseIds }, call) => {
      await checkKnowledgeBases(ports, tenantRequest(call), knowledgeBaseIds);
      return {};
    },
    listKnowledgeBases: async ({ knowledgeBaseIds }, call) => {
      const bases = await summarizeKnowledgeBases(ports, tenantRequest(call), knowledgeBaseIds);
      return { knowledgeBases: bases.map(({ description, ...base }) => ({ ...base, description: description ?? '' })) };
    },
    retrieve: async (question, call) => {
      const { passages, ...answer } = await ports.queues.search(tenantRequest(call), (request) =>
        retrievePassages(ports, request, question),
      );
      return { passages: passages.map((found) => Passage.fromPartial(withoutNulls(found))), ...answer };
    },
    beginDocument: async (parse, call) => {
      const { objectKey, objectEtag, mimeType, fileSizeBytes, fileName } = await beginDocument(
        ports,
        tenantRequest(call),
        parse,
      );
      const object = { objectKey: objectKey ?? '', objectEtag: objectEtag ?? '' };
      return { ...object, mimeType, sizeBytes: BigInt(fileSizeBytes), fileName };
    },
    completeDocument: async (parts, call) => {
      await completeDocument(ports, tenantRequest(call), parts);
      return {};
    },
    failDocument: async (failure, call) => {
      await failDocument(ports, tenantRequest(call), failure);
      return {};
    },
  };
}
