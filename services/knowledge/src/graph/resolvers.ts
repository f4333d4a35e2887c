import { confirmKnowledgeDocumentUpload } from '../confirm-knowledge-document-upload.ts';
import { createKnowledgeBase } from '../create-knowledge-base.ts';
import { deleteKnowledgeBase } from '../delete-knowledge-base.ts';
import { deleteKnowledgeDocument } from '../delete-knowledge-document.ts';
import { embed, vectorsAsJson } from '../embed.ts';
import { ingestDocument } from '../ingest-document.ts';
import { ingestDocumentFromUrl } from '../ingest-document-from-url.ts';
import { listKnowledgeBases } from '../list-knowledge-bases.ts';
import { getKnowledgeDocument, listKnowledgeDocuments } from '../read-documents.ts';
import { requestKnowledgeDocumentUpload } from '../request-knowledge-document-upload.ts';
import { resyncKnowledgeDocument } from '../resync-knowledge-document.ts';
import { retrieveChunks } from '../retrieve-chunks.ts';
import { updateKnowledgeDocumentText } from '../update-knowledge-document-text.ts';
import type { Resolvers } from './generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: {
    knowledgeBases: (_, __, { ports, caller, answer }, info) => listKnowledgeBases(answer.reading(ports, info), caller),
    knowledgeDocuments: (_, { knowledgeBaseId }, { ports, caller, answer }, info) =>
      listKnowledgeDocuments(answer.reading(ports, info), caller, knowledgeBaseId),
    knowledgeDocument: (_, { id }, { ports, caller, answer }, info) =>
      getKnowledgeDocument(answer.reading(ports, info), caller, id),
    retrieveChunks: (_, query, { ports, caller, gone }) =>
      ports.turns.search(caller, gone, () => retrieveChunks(ports, caller, query, gone)),
    embed: (_, { texts }, { ports, caller, gone }) =>
      ports.turns.vectorize(caller, gone, () => embed(ports, caller, texts, gone)),
  },

  Mutation: {
    createKnowledgeBase: (_, { input }, { ports, caller }) => createKnowledgeBase(ports, caller, input),
    deleteKnowledgeBase: (_, { id }, { ports, caller }) => deleteKnowledgeBase(ports, caller, id),
    ingestDocument: (_, { input }, { ports, caller, gone }) =>
      ports.turns.storeText(caller, gone, () => ingestDocument(ports, caller, input, gone)),
    requestKnowledgeDocumentUpload: (_, { input }, { ports, caller }) =>
      requestKnowledgeDocumentUpload(ports, caller, input),
    confirmKnowledgeDocumentUpload: (_, { input }, { ports, caller }) =>
      confirmKnowledgeDocumentUpload(ports, caller, input),
    deleteKnowledgeDocument: (_, { id }, { ports, caller }) => deleteKnowledgeDocument(ports, caller, id),
    resyncKnowledgeDocument: (_, { id }, { ports, caller, gone }) =>
      ports.turns.storeText(caller, gone, () => resyncKnowledgeDocument(ports, caller, id, gone)),
    updateKnowledgeDocumentText: (_, input, { ports, caller, gone }) =>
      ports.turns.storeText(caller, gone, () => updateKnowledgeDocumentText(ports, caller, input, gone)),
    ingestDocumentFromUrl: (_, { input }, { ports, caller, gone }) => ingestDocumentFromUrl(ports, caller, input, gone),
  },

  EmbedResultDto: {
    vectors: ({ vectors }, _, { answer }, info) => answer.asJson(() => vectorsAsJson(vectors), info),
  },
};
