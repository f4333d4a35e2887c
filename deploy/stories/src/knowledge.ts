import type { KnowledgeDocumentDto } from '../../../services/knowledge/src/generated/schema.ts';
import type { Client } from './client.ts';
import type { AsJson } from './conversation.ts';

export type KnowledgeDocument = AsJson<Omit<KnowledgeDocumentDto, '__typename'>>;

export async function createKnowledgeBase(client: Client, name = 'Returns'): Promise<number> {
  const document = 'mutation ($input: CreateKnowledgeBaseInput!) { createKnowledgeBase(input: $input) { id } }';
  return (await client.value<{ id: number }>(document, { input: { name } })).id;
}

/** Stores a text; returns its document. */
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

export async function listKnowledgeDocuments(client: Client, knowledgeBaseId: number): Promise<KnowledgeDocument[]> {
  const document = `query ($id: Int!) { knowledgeDocuments(knowledgeBaseId: $id) { ${documentFields} } }`;
  return client.value(document, { id: knowledgeBaseId });
}

export async function readKnowledgeDocument(client: Client, id: number): Promise<KnowledgeDocument> {
  return client.value(`query ($id: Int!) { knowledgeDocument(id: $id) { ${documentFields} } }`, { id });
}

const documentFields = 'id fileName mimeType fileSizeBytes parseStatus parseError rawText createdAt updatedAt';
