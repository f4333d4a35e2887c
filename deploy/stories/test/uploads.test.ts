import test from 'ava';
import type { Client } from '../src/client.ts';
import {
  confirmDocument,
  createKnowledgeBase,
  findPassages,
  listKnowledgeDocuments,
  parsedDocument,
  putUpload,
  readKnowledgeDocument,
  requestUpload,
  uploadedFile,
  uploadFile,
} from '../src/knowledge.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

story.each('an uploaded file becomes READY, and its passages are found', async (t, mesh) => {
  const ada = await mesh.person();
  const base = await createKnowledgeBase(ada);
  const text =
    '# Returns\n\nA parcel can be sent back within thirty days.\n\n# Fees\n\nThe first return costs two euros.';
  const id = await uploadFile(ada, base, text);
  t.like(await parsedDocument(ada, id), {
    parseStatus: 'READY',
    parseError: null,
    mimeType: 'text/markdown',
    fileName: 'Rückgabe.md',
  });
  t.is((await readKnowledgeDocument(ada, id)).fileSizeBytes, Buffer.byteLength(text));
  const [found] = await findPassages(ada, base, 'What does a return cost?');
  t.like(found, { documentId: id, documentName: 'Rückgabe.md' });
  t.regex(found?.content ?? '', /two euros/u);

  await ada.query('mutation ($id: Int!) { deleteKnowledgeDocument(id: $id) }', { id });
  t.deepEqual(await findPassages(ada, base, 'What does a return cost?'), []);
});

story('a file without text is FAILED with a reason, and can be queued again', async (t, mesh) => {
  const ada = await mesh.person();
  const id = await uploadFile(ada, await createKnowledgeBase(ada), ' \n\n ');
  const failed = await parsedDocument(ada, id);
  t.is(failed.parseStatus, 'FAILED');
  t.regex(failed.parseError ?? '', /\w+.*\.$/u);
  t.true(await ada.value('mutation ($id: Int!) { resyncKnowledgeDocument(id: $id) }', { id }));
  t.is((await parsedDocument(ada, id)).parseStatus, 'FAILED');
});

story('an upload is confirmed once, by its tenant, and only if a file of its type was put', async (t, mesh) => {
  const [ada, eve] = [await mesh.person(), await mesh.person()];
  const base = await createKnowledgeBase(ada);
  const theirs = await createKnowledgeBase(eve);
  const offered = await requestUpload(ada, base);
  const { objectStorageKey } = offered;
  const input = { ...uploadedFile(base), objectStorageKey };
  const codeOf = async (client: Client, knowledgeBaseId: number) => {
    const { extensions } = await client.refusal(confirmDocument, { input: { ...input, knowledgeBaseId } });
    return [extensions.code, extensions.reason];
  };
  t.deepEqual(await codeOf(ada, base), ['BAD_REQUEST', 'UPLOAD_MISSING']);
  t.is((await putUpload(offered, '<b>', 'text/html')).status, 403);
  t.true((await putUpload(offered, 'Thirty days.')).ok);
  t.deepEqual(await codeOf(eve, theirs), ['NOT_FOUND', undefined]);
  t.deepEqual(await codeOf(eve, base), ['NOT_FOUND', undefined]);
  const { documentId } = await ada.value<{ documentId: number }>(confirmDocument, { input });
  t.deepEqual(await codeOf(ada, base), ['BAD_REQUEST', 'UPLOAD_USED']);
  t.deepEqual(
    (await listKnowledgeDocuments(ada, base)).map(({ id }) => id),
    [documentId],
  );
  t.is((await parsedDocument(ada, documentId)).parseStatus, 'READY');
});
