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
    knowledgeBases: (_, __, { ports, answer, tenantRequest }, info) =>
      listKnowledgeBases(answer.reading(ports, info), tenantRequest(info)),
    knowledgeDocuments: (_, { knowledgeBaseId }, { ports, answer, tenantRequest }, info) =>
      listKnowledgeDocuments(answer.reading(ports, info), tenantRequest(info), knowledgeBaseId),
    knowledgeDocument: (_, { id }, { ports, answer, tenantRequest }, info) =>
      getKnowledgeDocument(answer.reading(ports, info), tenantRequest(info), id),
    retrieveChunks: (_, query, { ports, tenantRequest }, info) =>
      ports.turns.search(tenantRequest(info), (request) => retrieveChunks(ports, request, query)),
    embed: (_, { texts }, { ports, tenantRequest }, info) =>
      ports.turns.vectorize(tenantRequest(info), (request) => embed(ports, request, texts)),
  },

  Mutation: {
    createKnowledgeBase: (_, { input }, { ports, tenantRequest }, info) =>
      createKnowledgeBase(ports, tenantRequest(info), input),
    deleteKnowledgeBase: (_, { id }, { ports, tenantRequest }, info) =>
      deleteKnowledgeBase(ports, tenantRequest(info), id),
    ingestDocument: (_, { input }, { ports, tenantRequest }, info) =>
      ports.turns.storeText(tenantRequest(info), (request) => ingestDocument(ports, request, input)),
    requestKnowledgeDocumentUpload: (_, { input }, { ports, tenantRequest }, info) =>
      requestKnowledgeDocumentUpload(ports, tenantRequest(info), input),
    confirmKnowledgeDocumentUpload: (_, { input }, { ports, tenantRequest }, info) =>
      confirmKnowledgeDocumentUpload(ports, tenantRequest(info), input),
    deleteKnowledgeDocument: (_, { id }, { ports, tenantRequest }, info) =>
      deleteKnowledgeDocument(ports, tenantRequest(info), id),
    resyncKnowledgeDocument: (_, { id }, { ports, tenantRequest }, info) =>
      ports.turns.storeText(tenantRequest(info), (request) => resyncKnowledgeDocument(ports, request, id)),
    updateKnowledgeDocumentText: (_, input, { ports, tenantRequest }, info) =>
      ports.turns.storeText(tenantRequest(info), (request) => updateKnowledgeDocumentText(ports, request, input)),
    ingestDocumentFromUrl: (_, { input }, { ports, tenantRequest }, info) =>
      ingestDocumentFromUrl(ports, tenantRequest(info), input),
  },

  EmbedResultDto: {
    vectors: ({ vectors }, _, { answer }, info) => answer.asJson(() => vectorsAsJson(vectors), info),
  },
};
