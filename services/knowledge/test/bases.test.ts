import test from 'ava';
import { inTenant, knowledgeApp, textOf } from './knowledge-app.ts';

const me = inTenant(1);
const other = inTenant(2);

test('a base is created, listed oldest first, and deleted', async (t) => {
  const app = await knowledgeApp(t);
  const returns = await app.createKnowledgeBase(me, { name: 'Returns', description: 'What comes back' });
  const fees = await app.createKnowledgeBase(me, { name: 'Fees', description: null });
  t.like(returns, { name: 'Returns', description: 'What comes back', embeddingModel: 'test-embedding' });
  t.is(fees.description, null);
  t.true(returns.createdAt instanceof Date && returns.updatedAt instanceof Date);
  t.deepEqual(
    (await app.listKnowledgeBases(me)).map(({ name }) => name),
    ['Returns', 'Fees'],
  );
  t.true(await app.deleteKnowledgeBase(me, returns.id));
  t.deepEqual(
    (await app.listKnowledgeBases(me)).map(({ name }) => name),
    ['Fees'],
  );
});

test('a base with an invalid name or description is refused, and nothing is stored', async (t) => {
  const app = await knowledgeApp(t);
  for (const input of [
    { name: ' ' },
    { name: '\u200b \ufeff\u{e0041}' },
    { name: 'x'.repeat(201) },
    { name: 'a\0' },
    { name: '\ud800' },
    { name: 'a', description: 'x'.repeat(2_001) },
  ]) {
    t.like(await t.throwsAsync(app.createKnowledgeBase(me, input)), { kind: 'invalid' });
  }
  await app.createKnowledgeBase(me, { name: '🦜'.repeat(200), description: '🦜'.repeat(2_000) });
  t.is((await app.usage()).knowledgeBases, 1);
});

test("a base beyond the plan's quota is refused with quota, limit and usage, and a deleted base releases its place", async (t) => {
  const app = await knowledgeApp(t);
  const ids = [await app.base(), await app.base(), await app.base()];
  const error = await t.throwsAsync(app.base());
  t.like(error, { kind: 'invalid', reason: 'QUOTA_EXCEEDED' });
  t.is(error?.message, "The plan's quota of knowledge bases does not have room: limit 3, used 3");
  t.is(await app.count('knowledge_bases'), 3);
  await app.deleteKnowledgeBase(me, ids[0] ?? 0);
  await app.base();
  t.is((await app.usage()).knowledgeBases, 3);
});

test('concurrent creations of bases do not exceed the plan', async (t) => {
  const app = await knowledgeApp(t);
  const made = await Promise.allSettled(Array.from({ length: 12 }, () => app.base()));
  t.is(made.filter(({ status }) => status === 'fulfilled').length, 3);
  t.is(await app.count('knowledge_bases'), 3);
  t.is((await app.usage()).knowledgeBases, 3);
});

test("without the tenant's plan no base is created", async (t) => {
  const app = await knowledgeApp(t);
  app.ports.quotas = () => Promise.reject(new Error('identity is away'));
  await t.throwsAsync(app.base(), { message: 'identity is away' });
  t.is(await app.count('knowledge_bases'), 0);
});

test('a base of another tenant, a deleted or an absent base is not found by any operation', async (t) => {
  const app = await knowledgeApp(t);
  const [mine, gone] = [await app.base(), await app.base()];
  const document = await app.document(mine, textOf(1));
  const lost = await app.document(gone, textOf(1));
  await app.deleteKnowledgeBase(me, gone);
  const attempts = (caller: typeof me, base: number) => [
    () => app.listKnowledgeDocuments(caller, base),
    () => app.deleteKnowledgeBase(caller, base),
    () => app.ingestDocument(caller, { knowledgeBaseId: base, fileName: 'a', text: 'a' }),
  ];
  const documents = (caller: typeof me, id: number) => [
    () => app.getKnowledgeDocument(caller, id),
    () => app.updateKnowledgeDocumentText(caller, { id, text: 'b' }),
    () => app.resyncKnowledgeDocument(caller, id),
  ];
  for (const attempt of [
    ...[gone, 900_000, 0, -1, 2 ** 31, 2 ** 40].flatMap((id) => attempts(me, id)),
    ...attempts(other, mine),
    ...[lost, 900_000, 0, -1, 2 ** 31].flatMap((id) => documents(me, id)),
    ...documents(other, document),
    () => app.deleteKnowledgeDocument(other, document),
    () => app.deleteKnowledgeDocument(me, 900_000),
  ]) {
    t.like(await t.throwsAsync(attempt), { kind: 'notFound' }, attempt.toString());
  }
  t.deepEqual(await app.listKnowledgeBases(other), []);
  t.is((await app.getKnowledgeDocument(me, document)).rawText, textOf(1));
  t.is((await app.usage()).knowledgeBases, 1);
});

test('a deleted base keeps its rows and no longer counts, but its documents count until they are deleted', async (t) => {
  const app = await knowledgeApp(t);
  const base = await app.base();
  const id = await app.document(base, textOf(3));
  const before = await app.usage();
  t.is(before.chunks, 3);
  await app.deleteKnowledgeBase(me, base);
  t.deepEqual(await app.usage(), { ...before, knowledgeBases: 0 });
  t.is(await app.count('knowledge_documents'), 1);
  t.is(await app.count('knowledge_chunks'), 3);
  t.true(await app.deleteKnowledgeDocument(me, id));
  t.deepEqual(await app.usage(), { knowledgeBases: 0, chunks: 0, storedBytes: 0 });
  t.is(await app.count('knowledge_documents'), 1);
});
