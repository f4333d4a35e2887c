import { eventually } from '@parley/testing/eventually';
import type { KnowledgeDocumentDto } from '../../../services/knowledge/src/generated/schema.ts';
import type { Client } from './client.ts';
import type { AsJson } from './messages.ts';

export type KnowledgeDocument = AsJson<Omit<KnowledgeDocumentDto, '__typename'>>;

export async function createKnowledgeBase(client: Client, name = 'Returns'): Promise<number> {
  const document = 'mutation ($input: CreateKnowledgeBaseInput!) { createKnowledgeBase(input: $input) { id } }';
  return (await client.value<{ id: number }>(document, { input: { name } })).id;
}

/** Stores a text and returns its document. */
export async function ingestText(
  client: Client,
  knowledgeBaseId: number,
  text: string,
  fileName = 'returns.md',
): Promise<KnowledgeDocument> {
  const document = 'mutation ($input: IngestDocumentInput!) { ingestDocument(input: $input) }';
  await client.value(document, { input: { knowledgeBaseId, fileName, text } });
  const [newest] = await listKnowledgeDocuments(client, knowledgeBaseId);
  if (!newest) throw new Error('The document is in no list');
  return newest;
}

export interface OfferedUpload {
  uploadUrl: string;
  objectStorageKey: string;
}

const markdown = 'text/markdown';

/** Returns the input for requesting and confirming an upload. */
export const uploadedFile = (knowledgeBaseId: number, mimeType = markdown) => ({
  knowledgeBaseId,
  fileName: 'Rückgabe.md',
  mimeType,
});

export function requestUpload(
  client: Client,
  knowledgeBaseId: number,
  mimeType?: string,
  declaredSizeBytes = 100,
): Promise<OfferedUpload> {
  const document = `mutation ($input: RequestKnowledgeDocumentUploadInput!) {
    requestKnowledgeDocumentUpload(input: $input) { uploadUrl objectStorageKey } }`;
  return client.value(document, { input: { ...uploadedFile(knowledgeBaseId, mimeType), declaredSizeBytes } });
}

export function putUpload(
  { uploadUrl }: OfferedUpload,
  bytes: string | Uint8Array,
  type = markdown,
): Promise<Response> {
  return fetch(uploadUrl, { method: 'PUT', body: Buffer.from(bytes), headers: { 'content-type': type } });
}

export const confirmDocument = `mutation ($input: ConfirmKnowledgeDocumentUploadInput!) {
  confirmKnowledgeDocumentUpload(input: $input) { documentId parseStatus } }`;

/** Uploads and confirms a file, by default Markdown. Returns its document, which is not parsed yet. */
export async function uploadFile(
  client: Client,
  knowledgeBaseId: number,
  bytes: string | Uint8Array,
  mimeType?: string,
): Promise<number> {
  const offered = await requestUpload(client, knowledgeBaseId, mimeType, Math.max(1, Buffer.byteLength(bytes)));
  if (!(await putUpload(offered, bytes, mimeType)).ok) throw new Error('the PUT was refused');
  const input = { ...uploadedFile(knowledgeBaseId, mimeType), objectStorageKey: offered.objectStorageKey };
  return (await client.value<{ documentId: number }>(confirmDocument, { input })).documentId;
}

/** Waits until a document is READY or FAILED, and returns it. */
export function parsedDocument(client: Client, id: number, timeoutMs?: number): Promise<KnowledgeDocument> {
  return eventually(
    'the document is parsed',
    async () => {
      const document = await readKnowledgeDocument(client, id);
      return /READY|FAILED/u.test(document.parseStatus) ? document : undefined;
    },
    timeoutMs === undefined ? {} : { timeoutMs },
  );
}

export const retrieveDocument = `query ($base: Int!, $query: String!, $topK: Int) {
  retrieveChunks(knowledgeBaseId: $base, query: $query, topK: $topK) { documentId documentName content score } }`;

export interface FoundPassage {
  documentId: number;
  documentName: string;
  content: string;
  score: number;
}

/** Returns the passages nearest to a query, the nearest first. */
export function findPassages(client: Client, base: number, query: string, topK = 20): Promise<FoundPassage[]> {
  return client.value(retrieveDocument, { base, query, topK });
}

export async function listKnowledgeDocuments(client: Client, knowledgeBaseId: number): Promise<KnowledgeDocument[]> {
  const document = `query ($id: Int!) { knowledgeDocuments(knowledgeBaseId: $id) { ${documentFields} } }`;
  return client.value(document, { id: knowledgeBaseId });
}

export async function readKnowledgeDocument(client: Client, id: number): Promise<KnowledgeDocument> {
  return client.value(`query ($id: Int!) { knowledgeDocument(id: $id) { ${documentFields} } }`, { id });
}

const documentFields = 'id fileName mimeType fileSizeBytes parseStatus parseError rawText createdAt updatedAt';
