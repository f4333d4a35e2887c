import { rowsBy } from '@parley/postgres/database/rows';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import { onEveryDatabase } from '@parley/testing/every-database';
import type { ExecutionContext } from 'ava';
import { knowledgeSchema } from '../src/knowledge-schema.ts';
import { storedChunks } from './stored-chunks.ts';

const none = { rawText: '', pageStarts: null };

/** Returns the schema after the first `count` migrations, with the tables whose names occur in these migrations. */
function schemaAfter(count: number): SchemaDeclaration {
  const migrations = knowledgeSchema.migrations.slice(0, count);
  const isMade = ([name]: [string, unknown]) => migrations.some(({ up }) => String(up).includes(name));
  const tables = Object.fromEntries(Object.entries(knowledgeSchema.tables).filter(isMade));
  return { ...knowledgeSchema, migrations, tables };
}

function textsOf(database: Database) {
  return database.transact(1, ({ knex }) => knex('knowledge_documents').orderBy('id').select('rawText', 'pageStarts'));
}

onEveryDatabase(({ replicaOf, test, testSchema }) => {
  /** Creates a database in which all migrations before this one have run; `migrated` also runs this one and returns the database. */
  async function schemas(t: ExecutionContext, migration: string) {
    const at = knowledgeSchema.migrations.findIndex(({ name }) => name === migration);
    const earlier = await testSchema(t, schemaAfter(at));
    const migrated = async () => {
      const database = await replicaOf(t, earlier, schemaAfter(at + 1));
      await database.migrate();
      return database;
    };
    return { earlier, migrated };
  }

  test('chunks stored before the partitions existed keep their ids and texts', async (t) => {
    const at = knowledgeSchema.migrations.findIndex(({ name }) => name === '005-chunks-by-tenant');
    const earlier = await testSchema(t, schemaAfter(at));
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

  for (const migration of ['006-deleted-texts', '008-deleted-without-text']) {
    test(`${migration}: texts of documents deleted earlier are cleared, texts of drafts are kept`, async (t) => {
      const { earlier, migrated } = await schemas(t, migration);
      const stored = storedChunks(earlier, 1);
      const base = await stored.base();
      const text = { rawText: 'text', pageStarts: [0] };
      const add = async (change: object) => {
        const id = await stored.document(base, ['text']);
        await earlier.transact(1, ({ knex }) =>
          knex('knowledge_documents')
            .where({ id })
            .update({ ...text, ...change }),
        );
      };
      const deletedAt = new Date();
      await add({});
      await add({ deletedAt });
      await add({ deletedAt, generation: 0, origin: 'UPLOAD' });
      await add({ deletedAt, generation: 0 });
      t.deepEqual(await textsOf(await migrated()), [text, none, none, text]);
    });
  }

  test('a document deleted by the previous version keeps no text, a document published by it does', async (t) => {
    const database = await testSchema(t, knowledgeSchema);
    const stored = storedChunks(database, 1);
    const base = await stored.base();
    const [deleted, draft] = [await stored.document(base, ['text']), await stored.document(base, ['text'])];
    const text = { rawText: 'text', pageStarts: [0] };
    const change = (id: number, fields: object) =>
      database.transact(1, ({ knex }) => knex('knowledge_documents').where({ id }).update(fields));
    await change(draft, { deletedAt: new Date() });
    await change(deleted, text);
    await change(draft, text);
    await change(deleted, { deletedAt: new Date() });
    await change(draft, { deletedAt: new Date() });
    await change(draft, { deletedAt: null });
    t.deepEqual(await textsOf(database), [none, text]);
  });

  test('chunks stored before words between signs were indexed are not rewritten; new chunks have these words', async (t) => {
    const at = knowledgeSchema.migrations.findIndex(({ name }) => name === '007-words-between-signs');
    const earlier = await testSchema(t, schemaAfter(at));
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
    t.like(
      (await chunks(database))[1],
      { search: "'after':2 'tag':3 'text':1" },
      'also where the version before stores them',
    );
    await database.transact(1, ({ knex }) => knex('knowledge_chunks').update({ heading: 'On' }));
    t.like(await chunks(database), [
      { search: "'before':3 'on':2 'tag':4 'text':1" },
      { search: "'after':3 'on':2 'tag':4 'text':1" },
    ]);
  });
});
