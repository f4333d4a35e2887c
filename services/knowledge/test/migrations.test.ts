import { rowsBy } from '@parley/postgres/database/rows';
import { onEveryDatabase } from '@parley/testing/every-database';
import { knowledgeSchema } from '../src/knowledge-schema.ts';
import { storedChunks } from './stored-chunks.ts';

onEveryDatabase(({ replicaOf, test, testSchema }) => {
  test('chunks that are stored before there are partitions keep their ids and texts', async (t) => {
    const at = knowledgeSchema.migrations.findIndex(({ name }) => name === '005-chunks-by-tenant');
    const before = { ...knowledgeSchema, migrations: knowledgeSchema.migrations.slice(0, at) };
    const earlier = await testSchema(t, before);
    const tenants = [1, 2, 3];
    for (const tenantId of tenants) {
      const stored = storedChunks(earlier, tenantId);
      await stored.document(await stored.base(), ['first', 'second']);
    }
    const chunksOf = (tenantId: number) =>
      database.transact(tenantId, ({ knex }) =>
        rowsBy(knex)(`SELECT id, content, cast(search AS text) AS search FROM knowledge_chunks ORDER BY id`, {}),
      );

    const database = await replicaOf(t, earlier, knowledgeSchema);
    await database.migrate();

    for (const tenantId of tenants) {
      const id = 2 * tenantId - 1;
      t.deepEqual(await chunksOf(tenantId), [
        { id, content: 'first', search: "'first':1" },
        { id: id + 1, content: 'second', search: "'second':1" },
      ]);
    }
    const stored = storedChunks(database, 1);
    await stored.document(await stored.base(), ['third']);
    t.like((await chunksOf(1))[2], { id: 7, content: 'third' });
  });

  test('texts of documents that were deleted before are gone, those of drafts stay', async (t) => {
    const at = knowledgeSchema.migrations.findIndex(({ name }) => name === '006-deleted-texts');
    const earlier = await testSchema(t, { ...knowledgeSchema, migrations: knowledgeSchema.migrations.slice(0, at) });
    const stored = storedChunks(earlier, 1);
    const base = await stored.base();
    const [_live, deleted, draft] = [
      await stored.document(base, ['text']),
      await stored.document(base, ['text']),
      await stored.document(base, ['text']),
    ];
    const textsOf = (of: typeof earlier) =>
      of.transact(1, ({ knex }) => knex('knowledge_documents').orderBy('id').pluck('rawText'));
    await earlier.transact(1, async ({ knex }) => {
      await knex('knowledge_documents').update({ rawText: 'text' });
      await knex('knowledge_documents').where({ id: deleted }).update({ deletedAt: new Date() });
      await knex('knowledge_documents').where({ id: draft }).update({ deletedAt: new Date(), generation: 0 });
    });
    const database = await replicaOf(t, earlier, knowledgeSchema);
    await database.migrate();
    t.deepEqual(await textsOf(database), ['text', '', 'text']);
  });

  test('chunks that are stored when words between signs are not found yet are not written again, new ones have them', async (t) => {
    const at = knowledgeSchema.migrations.findIndex(({ name }) => name === '007-words-between-signs');
    const earlier = await testSchema(t, { ...knowledgeSchema, migrations: knowledgeSchema.migrations.slice(0, at) });
    const stored = storedChunks(earlier, 1);
    const base = await stored.base();
    await stored.document(base, ['before <tag>']);
    const chunks = (of: typeof earlier) =>
      of.transact(1, ({ knex }) =>
        rowsBy(knex)(
          'SELECT cast(search AS text) AS search, cast(xmin AS text) AS written FROM knowledge_chunks ORDER BY id',
          {},
        ),
      );
    const [before] = await chunks(earlier);

    const database = await replicaOf(t, earlier, knowledgeSchema);
    await database.migrate();
    t.deepEqual(await chunks(database), [before]);
    await stored.document(base, ['after <tag>']);
    t.like((await chunks(database))[1], { search: "'after':1 'tag':2" }, 'also where the version before stores them');
    await database.transact(1, ({ knex }) => knex('knowledge_chunks').update({ heading: 'On' }));
    t.like(await chunks(database), [{ search: "'before':2 'on':1 'tag':3" }, { search: "'after':2 'on':1 'tag':3" }]);
  });
});
