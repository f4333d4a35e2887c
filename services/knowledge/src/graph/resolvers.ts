import { createKnowledgeBase } from '../bases/create-knowledge-base.ts';
import { deleteKnowledgeBase } from '../bases/delete-knowledge-base.ts';
import { listKnowledgeBases } from '../bases/list-knowledge-bases.ts';
import { deleteKnowledgeDocument } from '../documents/delete-knowledge-document.ts';
import { ingestDocument } from '../documents/ingest-document.ts';
import { ingestDocumentFromUrl } from '../documents/ingest-document-from-url.ts';
import { getKnowledgeDocument, listKnowledgeDocuments } from '../documents/read-documents.ts';
import { resyncKnowledgeDocument } from '../documents/resync-knowledge-document.ts';
import { updateKnowledgeDocumentText } from '../documents/update-knowledge-document-text.ts';
import { embed, vectorsAsJson } from '../embeddings/embed.ts';
import { retrieveChunks } from '../retrieval/retrieve-chunks.ts';
import { confirmKnowledgeDocumentUpload } from '../uploads/confirm-knowledge-document-upload.ts';
import { requestKnowledgeDocumentUpload } from '../uploads/request-knowledge-document-upload.ts';
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
      ports.queues.search(tenantRequest(info), (request) => retrieveChunks(ports, request, query)),
    embed: (_, { texts }, { ports, tenantRequest }, info) =>
      ports.queues.vectorize(tenantRequest(info), (request) => embed(ports, request, texts)),
  },

  Mutation: {
    createKnowledgeBase: (_, { input }, { ports, tenantRequest }, info) =>
      createKnowledgeBase(ports, tenantRequest(info), input),
    deleteKnowledgeBase: (_, { id }, { ports, tenantRequest }, info) =>
      deleteKnowledgeBase(ports, tenantRequest(info), id),
    ingestDocument: (_, { input }, { ports, tenantRequest }, info) =>
      ports.queues.storeText(tenantRequest(info), (request) => ingestDocument(ports, request, input)),
    requestKnowledgeDocumentUpload: (_, { input }, { ports, tenantRequest }, info) =>
      requestKnowledgeDocumentUpload(ports, tenantRequest(info), input),
    confirmKnowledgeDocumentUpload: (_, { input }, { ports, tenantRequest }, info) =>
      confirmKnowledgeDocumentUpload(ports, tenantRequest(info), input),
    deleteKnowledgeDocument: (_, { id }, { ports, tenantRequest }, info) =>
      deleteKnowledgeDocument(ports, tenantRequest(info), id),
    resyncKnowledgeDocument: (_, { id }, { ports, tenantRequest }, info) =>
      ports.queues.storeText(tenantRequest(info), (request) => resyncKnowledgeDocument(ports, request, id)),
    updateKnowledgeDocumentText: (_, input, { ports, tenantRequest }, info) =>
      ports.queues.storeText(tenantRequest(info), (request) => updateKnowledgeDocumentText(ports, request, input)),
    ingestDocumentFromUrl: (_, { input }, { ports, tenantRequest }, info) =>
      ingestDocumentFromUrl(ports, tenantRequest(info), input),
  },

  EmbedResultDto: {
    vectors: ({ vectors }, _, { answer }, info) => answer.asJson(() => vectorsAsJson(vectors), info),
  },
};
