import test from 'ava';
import { createKnowledgeBase, ingestText, listKnowledgeDocuments, readKnowledgeDocument } from '../src/knowledge.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const text = '# Returns\n\nA parcel can be sent back within thirty days. The label is in the box.';
const update = 'mutation ($id: Int!, $text: String!) { updateKnowledgeDocumentText(id: $id, text: $text) }';

story('a knowledge base is filled with texts, which can be read, replaced and deleted', async (t, mesh) => {
  const ada = await mesh.person();
  const base = await createKnowledgeBase(ada);
  const first = await ingestText(ada, base, text);
  t.like(first, { fileName: 'returns.md', mimeType: 'text/markdown', parseStatus: 'READY', parseError: null });
  t.is(first.fileSizeBytes, text.length);
  const second = await ingestText(ada, base, 'Fees are two euros.', 'fees.txt');
  t.is(second.mimeType, 'text/plain');
  const listed = await listKnowledgeDocuments(ada, base);
  t.deepEqual(
    listed.map(({ id, rawText }) => [id, rawText]),
    [
      [second.id, ''],
      [first.id, ''],
    ],
  );
  t.is((await readKnowledgeDocument(ada, first.id)).rawText, text);

  t.true(await ada.value(update, { id: first.id, text: 'Sixty days.' }));
  t.true(await ada.value('mutation ($id: Int!) { resyncKnowledgeDocument(id: $id) }', { id: first.id }));
  t.like(await readKnowledgeDocument(ada, first.id), { rawText: 'Sixty days.', parseStatus: 'READY' });

  t.true(await ada.value('mutation ($id: Int!) { deleteKnowledgeDocument(id: $id) }', { id: second.id }));
  t.deepEqual(
    (await listKnowledgeDocuments(ada, base)).map(({ id }) => id),
    [first.id],
  );
  t.true(await ada.value('mutation ($id: Int!) { deleteKnowledgeBase(id: $id) }', { id: base }));
  t.deepEqual(await ada.value('{ knowledgeBases { id } }'), []);
  const gone = await ada.refusal('query ($id: Int!) { knowledgeDocument(id: $id) { id } }', { id: first.id });
  t.is(gone.extensions.code, 'NOT_FOUND');
});

story('a plan allows three knowledge bases, and a fourth is refused with the limit', async (t, mesh) => {
  const ada = await mesh.person();
  const ids = [await createKnowledgeBase(ada), await createKnowledgeBase(ada), await createKnowledgeBase(ada)];
  const create = 'mutation { createKnowledgeBase(input: { name: "Fourth" }) { id } }';
  const { message, extensions } = await ada.refusal(create);
  t.is(message, "The plan's quota of knowledge bases does not have room: limit 3, used 3");
  t.like(extensions, { code: 'BAD_REQUEST', statusCode: 400, reason: 'QUOTA_EXCEEDED' });
  await ada.query('mutation ($id: Int!) { deleteKnowledgeBase(id: $id) }', { id: ids[0] });
  t.true((await ada.value<{ id: number }>(create)).id > 0);
});

story('a text of 500,000 characters passes the gateway, and a longer one is refused', async (t, mesh) => {
  const ada = await mesh.person();
  const base = await createKnowledgeBase(ada);
  const longest = 'Ünïcode '.repeat(62_500);
  const { id, fileSizeBytes } = await ingestText(ada, base, longest);
  t.is(fileSizeBytes, Buffer.byteLength(longest));
  const { extensions } = await ada.refusal(update, { id, text: `${longest}x` });
  t.like(extensions, { code: 'BAD_REQUEST', statusCode: 400 });
  t.is((await readKnowledgeDocument(ada, id)).rawText, longest);
});

story.each('a text is stored whole or not at all when many are sent at once', async (t, mesh) => {
  const ada = await mesh.person();
  const base = await createKnowledgeBase(ada);
  const documents = await Promise.all(Array.from({ length: 8 }, (_, n) => ingestText(ada, base, `${text} ${n}`)));
  t.is(documents.length, 8);
  const listed = await listKnowledgeDocuments(ada, base);
  const texts = await Promise.all(listed.map(async ({ id }) => (await readKnowledgeDocument(ada, id)).rawText));
  t.deepEqual(
    texts.toSorted(),
    Array.from({ length: 8 }, (_, n) => `${text} ${n}`),
  );
});
