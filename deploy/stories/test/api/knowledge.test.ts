import { createServer } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import test, { type ExecutionContext } from 'ava';
import { recordExamples } from '../../src/api-examples.ts';
import { type OfferedUpload, parsedDocument, putUpload } from '../../src/knowledge.ts';
import { pagesHost } from '../../src/mesh.ts';
import { stories } from '../../src/stories.ts';

const story = stories(test);

async function site(t: ExecutionContext): Promise<string> {
  const page = '<title>Delivery</title><h1>Delivery</h1><p>Free of charge for orders over 50 euros.</p>';
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(page));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://${await listen(server, 0, pagesHost)}`;
}

story('the examples of knowledge are those on its page', async (t, mesh) => {
  const { send, refused, show, compare } = recordExamples('knowledge');
  const ada = await mesh.person();
  const server = await ada.withApiKey();

  const create = `mutation ($input: CreateKnowledgeBaseInput!) {
    createKnowledgeBase(input: $input) { id name description createdAt } }`;
  const { id: knowledgeBaseId } = await send<{ id: number }>(ada, create, {
    input: { name: 'Shop', description: 'What customers ask about orders' },
  });
  await send(ada, '{ knowledgeBases { id name description } }');
  const ingest = 'mutation ($input: IngestDocumentInput!) { ingestDocument(input: $input) }';
  const text = 'Lamps can be returned within 30 days of the purchase, in their original box.';
  await send(ada, ingest, { input: { knowledgeBaseId, fileName: 'returns.md', text } });
  await refused(ada, ingest, { input: { knowledgeBaseId: 900_000_001, fileName: 'returns.md', text } });
  const documents = `query ($knowledgeBaseId: Int!) { knowledgeDocuments(knowledgeBaseId: $knowledgeBaseId) {
    id fileName mimeType fileSizeBytes parseStatus createdAt } }`;
  const [document] = await send<{ id: number }[]>(ada, documents, { knowledgeBaseId });
  const id = document?.id;
  await send(
    ada,
    `query ($id: Int!) { knowledgeDocument(id: $id) { id fileName parseStatus parseError parseWarnings rawText } }`,
    { id },
  );
  const [passage] = await send<{ score: number }[]>(
    ada,
    `query ($knowledgeBaseId: Int!, $query: String!, $topK: Int, $mode: RetrievalMode) {
      retrieveChunks(knowledgeBaseId: $knowledgeBaseId, query: $query, topK: $topK, mode: $mode) {
        documentId documentName chunkIndex content score } }`,
    { knowledgeBaseId, query: 'How long may I return a lamp?', topK: 3, mode: 'HYBRID' },
  );
  show(passage?.score, 0.41);
  const embed = 'query ($texts: [String!]!) { embed(texts: $texts) { vectors usage { inputTokens costUsd } } }';
  await send(server, embed, { texts: ['How long may I return a lamp?'] }, 5);

  const file = { knowledgeBaseId, fileName: 'delivery.md', mimeType: 'text/markdown' };
  const request = `mutation ($input: RequestKnowledgeDocumentUploadInput!) {
    requestKnowledgeDocumentUpload(input: $input) { uploadUrl objectStorageKey } }`;
  const offered = await send<OfferedUpload>(ada, request, { input: { ...file, declaredSizeBytes: 43 } });
  show(offered.uploadUrl, 'https://storage.example.com/uploads/9f3c…?X-Amz-Signature=…');
  show(offered.objectStorageKey, 'uploads/9f3c…');
  const confirm = `mutation ($input: ConfirmKnowledgeDocumentUploadInput!) {
    confirmKnowledgeDocumentUpload(input: $input) { documentId parseStatus } }`;
  const uploaded = { ...file, objectStorageKey: offered.objectStorageKey };
  await refused(ada, confirm, { input: uploaded });
  await putUpload(offered, 'Delivery costs 5 euros, and takes two days.');
  const { documentId } = await send<{ documentId: number }>(ada, confirm, { input: uploaded });
  await parsedDocument(ada, documentId, 30_000);

  const url = await site(t);
  show(url, 'https://shop.example.com');
  const fetchPage = 'mutation ($input: IngestDocumentFromUrlInput!) { ingestDocumentFromUrl(input: $input) }';
  await send(ada, fetchPage, { input: { knowledgeBaseId, url: `${url}/delivery` } });
  await refused(ada, fetchPage, { input: { knowledgeBaseId, url: 'http://127.0.0.1/' } });
  const replace = 'mutation ($id: Int!, $text: String!) { updateKnowledgeDocumentText(id: $id, text: $text) }';
  await send(ada, replace, { id, text: 'Lamps can be returned within 60 days.' });
  await send(ada, 'mutation ($id: Int!) { resyncKnowledgeDocument(id: $id) }', { id });
  const remove = 'mutation ($id: Int!) { deleteKnowledgeDocument(id: $id) }';
  await send(ada, remove, { id });
  await refused(ada, remove, { id });
  await send(ada, 'mutation ($id: Int!) { deleteKnowledgeBase(id: $id) }', { id: knowledgeBaseId });
  compare(t);
});
