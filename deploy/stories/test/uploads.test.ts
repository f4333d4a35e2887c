import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import type { Client } from '../src/client.ts';
import { createKnowledgeBase, listKnowledgeDocuments, readKnowledgeDocument } from '../src/knowledge.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const request = `mutation ($input: RequestKnowledgeDocumentUploadInput!) {
  requestKnowledgeDocumentUpload(input: $input) { uploadUrl objectStorageKey } }`;
const confirm = `mutation ($input: ConfirmKnowledgeDocumentUploadInput!) {
  confirmKnowledgeDocumentUpload(input: $input) { documentId parseStatus } }`;
const retrieve = `query ($base: Int!, $query: String!) {
  retrieveChunks(knowledgeBaseId: $base, query: $query, topK: 1) { documentId documentName content score } }`;

interface Upload {
  uploadUrl: string;
  objectStorageKey: string;
}

const file = (knowledgeBaseId: number) => ({ knowledgeBaseId, fileName: 'Rückgabe.md', mimeType: 'text/markdown' });

function requestUpload(client: Client, base: number): Promise<Upload> {
  return client.value(request, { input: { ...file(base), declaredSizeBytes: 100 } });
}

function put({ uploadUrl }: Upload, text: string, type = 'text/markdown'): Promise<Response> {
  return fetch(uploadUrl, { method: 'PUT', body: Buffer.from(text), headers: { 'content-type': type } });
}

/** Puts and confirms a file; returns its document. */
async function upload(client: Client, base: number, text: string): Promise<number> {
  const offered = await requestUpload(client, base);
  if (!(await put(offered, text)).ok) throw new Error('the PUT was refused');
  const input = { ...file(base), objectStorageKey: offered.objectStorageKey };
  const { documentId } = await client.value<{ documentId: number }>(confirm, { input });
  return documentId;
}

async function parsed(client: Client, id: number) {
  return eventually('the document is parsed', async () => {
    const document = await readKnowledgeDocument(client, id);
    return /READY|FAILED/u.test(document.parseStatus) ? document : undefined;
  });
}

story.each('an uploaded file becomes READY, and its passages are found', async (t, mesh) => {
  const ada = await mesh.person();
  const base = await createKnowledgeBase(ada);
  const text =
    '# Returns\n\nA parcel can be sent back within thirty days.\n\n# Fees\n\nThe first return costs two euros.';
  const id = await upload(ada, base, text);
  t.like(await parsed(ada, id), {
    parseStatus: 'READY',
    parseError: null,
    mimeType: 'text/markdown',
    fileName: 'Rückgabe.md',
  });
  t.is((await readKnowledgeDocument(ada, id)).fileSizeBytes, Buffer.byteLength(text));
  const [found] = await ada.value<{ content: string }[]>(retrieve, { base, query: 'What does a return cost?' });
  t.like(found, { documentId: id, documentName: 'Rückgabe.md' });
  t.regex(found?.content ?? '', /two euros/u);

  await ada.query('mutation ($id: Int!) { deleteKnowledgeDocument(id: $id) }', { id });
  t.deepEqual(await ada.value(retrieve, { base, query: 'What does a return cost?' }), []);
});

story('a file without text is FAILED with a reason, and can be queued again', async (t, mesh) => {
  const ada = await mesh.person();
  const id = await upload(ada, await createKnowledgeBase(ada), ' \n\n ');
  const failed = await parsed(ada, id);
  t.is(failed.parseStatus, 'FAILED');
  t.regex(failed.parseError ?? '', /\w+.*\.$/u);
  t.true(await ada.value('mutation ($id: Int!) { resyncKnowledgeDocument(id: $id) }', { id }));
  t.is((await parsed(ada, id)).parseStatus, 'FAILED');
});

story('an upload is confirmed once, by its tenant, and only where a file of its type was put', async (t, mesh) => {
  const [ada, eve] = [await mesh.person(), await mesh.person()];
  const base = await createKnowledgeBase(ada);
  const theirs = await createKnowledgeBase(eve);
  const offered = await requestUpload(ada, base);
  const { objectStorageKey } = offered;
  const input = { ...file(base), objectStorageKey };
  const codeOf = async (client: Client, knowledgeBaseId: number) => {
    const { extensions } = await client.refusal(confirm, { input: { ...input, knowledgeBaseId } });
    return [extensions.code, extensions.reason];
  };
  t.deepEqual(await codeOf(ada, base), ['BAD_REQUEST', 'UPLOAD_MISSING']);
  t.is((await put(offered, '<b>', 'text/html')).status, 403);
  t.true((await put(offered, 'Thirty days.')).ok);
  t.deepEqual(await codeOf(eve, theirs), ['NOT_FOUND', undefined]);
  t.deepEqual(await codeOf(eve, base), ['NOT_FOUND', undefined]);
  const { documentId } = await ada.value<{ documentId: number }>(confirm, { input });
  t.deepEqual(await codeOf(ada, base), ['BAD_REQUEST', 'UPLOAD_USED']);
  t.deepEqual(
    (await listKnowledgeDocuments(ada, base)).map(({ id }) => id),
    [documentId],
  );
  t.is((await parsed(ada, documentId)).parseStatus, 'READY');
});
