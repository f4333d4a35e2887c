import test from 'ava';
import { inTenant, textOf } from './knowledge-app.ts';
import { type KnowledgeUnit, knowledgeUnit } from './knowledge-unit.ts';

const me = inTenant(1);

async function made(unit: KnowledgeUnit, mutation: string, variables: object): Promise<unknown> {
  const { data, errors } = await unit.graph(me, mutation, variables);
  if (errors) throw new Error(JSON.stringify(errors));
  return Object.values(data ?? {})[0];
}

async function newBase(unit: KnowledgeUnit): Promise<number> {
  const mutation =
    'mutation ($input: CreateKnowledgeBaseInput!) { createKnowledgeBase(input: $input) { id name description createdAt updatedAt } }';
  return ((await made(unit, mutation, { input: { name: 'Returns' } })) as { id: number }).id;
}

async function ingest(unit: KnowledgeUnit, knowledgeBaseId: number, text: string): Promise<unknown> {
  const input = { knowledgeBaseId, fileName: 'a.md', text };
  return made(unit, 'mutation ($input: IngestDocumentInput!) { ingestDocument(input: $input) }', { input });
}

const documents = `query ($base: Int!) { knowledgeDocuments(knowledgeBaseId: $base) {
  id fileName mimeType fileSizeBytes parseStatus parseError rawText createdAt updatedAt } }`;

test('a base is created, filled, read, changed and deleted through the schema', async (t) => {
  const unit = await knowledgeUnit(t);
  const base = await newBase(unit);
  t.is(await ingest(unit, base, textOf(2)), 2);
  const [document] = (await made(unit, documents, { base })) as { id: number; createdAt: string }[];
  t.like(document, {
    fileName: 'a.md',
    mimeType: 'text/markdown',
    parseStatus: 'READY',
    parseError: null,
    rawText: '',
  });
  t.regex(document?.createdAt ?? '', /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
  const variables = { id: document?.id };
  const one = 'query ($id: Int!) { knowledgeDocument(id: $id) { rawText } }';
  t.deepEqual(await made(unit, one, variables), { rawText: textOf(2) });
  t.true(await made(unit, 'mutation ($id: Int!) { resyncKnowledgeDocument(id: $id) }', variables));
  t.true(await made(unit, 'mutation ($id: Int!) { updateKnowledgeDocumentText(id: $id, text: "new") }', variables));
  t.deepEqual(await made(unit, one, variables), { rawText: 'new' });
  t.true(await made(unit, 'mutation ($id: Int!) { deleteKnowledgeDocument(id: $id) }', variables));
  t.true(await made(unit, 'mutation ($id: Int!) { deleteKnowledgeBase(id: $id) }', { id: base }));
  t.deepEqual((await unit.graph(me, '{ knowledgeBases { id } }')).data?.['knowledgeBases'], []);
});

test('a user without a tenant gets an error that says so', async (t) => {
  const unit = await knowledgeUnit(t);
  const nobody = { ...me, tenantId: null };
  for (const operation of [
    '{ knowledgeBases { id } }',
    '{ knowledgeDocuments(knowledgeBaseId: 1) { id } }',
    '{ knowledgeDocument(id: 1) { id } }',
    'mutation { createKnowledgeBase(input: { name: "a" }) { id } }',
    'mutation { ingestDocument(input: { knowledgeBaseId: 1, fileName: "a", text: "a" }) }',
    'mutation { updateKnowledgeDocumentText(id: 1, text: "a") }',
    'mutation { resyncKnowledgeDocument(id: 1) }',
    'mutation { deleteKnowledgeDocument(id: 1) }',
    'mutation { deleteKnowledgeBase(id: 1) }',
    `mutation { requestKnowledgeDocumentUpload(input: {
       knowledgeBaseId: 1, fileName: "a.pdf", mimeType: "application/pdf", declaredSizeBytes: 5 }) { uploadUrl } }`,
    `mutation { confirmKnowledgeDocumentUpload(input: {
       knowledgeBaseId: 1, fileName: "a.pdf", mimeType: "application/pdf", objectStorageKey: "x" }) { documentId } }`,
  ]) {
    const { errors } = await unit.graph(nobody, operation);
    t.like(errors?.[0]?.extensions, { code: 'FORBIDDEN', reason: 'NO_TENANT' }, operation);
  }
});

test('while identity is unavailable, operations that need the plan are UNAVAILABLE and store nothing; reads work', async (t) => {
  const unit = await knowledgeUnit(t);
  unit.identity.isDown = true;
  const { errors } = await unit.graph(me, 'mutation { createKnowledgeBase(input: { name: "a" }) { id } }');
  t.like(errors?.[0]?.extensions, { code: 'UNAVAILABLE', statusCode: 503 });
  t.deepEqual((await unit.graph(me, '{ knowledgeBases { id } }')).data?.['knowledgeBases'], []);
  unit.identity.isDown = false;
  t.true((await newBase(unit)) > 0);
});

test('the text of a document counts toward the response size before it is read, once for each alias', async (t) => {
  const unit = await knowledgeUnit(t, { KNOWLEDGE_MAX_ANSWER_BYTES: '60000' });
  const base = await newBase(unit);
  await ingest(unit, base, 'x'.repeat(20_000));
  const [document] = (await made(unit, documents, { base })) as { id: number }[];
  const aliased = (count: number, fields: string) =>
    unit.graph(
      me,
      `query ($id: Int!) { ${Array.from({ length: count }, (_, n) => `a${n}: knowledgeDocument(id: $id) { ${fields} }`).join(' ')} }`,
      { id: document?.id },
    );
  t.is((await aliased(2, 'rawText')).errors, undefined);
  t.is((await aliased(10, 'id fileName')).errors, undefined, 'without the text there is room');
  t.like((await aliased(3, 'rawText')).errors?.[0]?.extensions, { code: 'BAD_REQUEST', reason: 'ANSWER_TOO_LARGE' });
});
