import { isDomainError } from '@parley/kernel/errors';
import type { Database } from '@parley/postgres/database/types';
import { requestOf } from '@parley/testing/request-of';
import { testSchema } from '@parley/testing/test-schema';
import test from 'ava';
import { checkKnowledgeBases } from '../src/bases/check-knowledge-bases.ts';
import { summarizeKnowledgeBases } from '../src/bases/summarize-knowledge-bases.ts';
import { knowledgeSchema } from '../src/knowledge-schema.ts';

const inTenant = (tenantId: number) => requestOf({ kind: 'user', tenantId, userId: 1, requestId: 'test' } as const);

function insertBases(database: Database, tenantId: number, count: number): Promise<number[]> {
  const rows = Array.from({ length: count }, () => ({ tenantId, name: 'Base', embeddingModel: 'm' }));
  return database.transact(tenantId, ({ knex }) => knex('knowledge_bases').insert(rows).returning('id').then(idsOf));
}
const idsOf = (rows: { id: number }[]) => rows.map(({ id }) => id);

test("live bases of the caller's tenant pass the check", async (t) => {
  const database = await testSchema(t, knowledgeSchema);
  const ids = await insertBases(database, 1, 5);
  await t.notThrowsAsync(checkKnowledgeBases({ database }, inTenant(1), ids));
  await t.notThrowsAsync(checkKnowledgeBases({ database }, inTenant(1), []));
});

test('an absent base, a deleted one and one of another tenant get the same not-found error', async (t) => {
  const database = await testSchema(t, knowledgeSchema);
  const [mine = 0, deleted = 0] = await insertBases(database, 1, 2);
  const [foreign = 0] = await insertBases(database, 2, 1);
  await database.transact(1, ({ knex }) =>
    knex('knowledge_bases')
      .where({ id: deleted })
      .update({ deletedAt: knex.raw('parley_now()') }),
  );
  for (const id of [deleted, foreign, 999_999, 0, -1, 3_000_000_000]) {
    const error = await t.throwsAsync(checkKnowledgeBases({ database }, inTenant(1), [mine, id]));
    t.like(error, { kind: 'notFound', message: `Knowledge base ${id} not found` });
  }
});

test('more than five bases are refused', async (t) => {
  const database = await testSchema(t, knowledgeSchema);
  const error = await t.throwsAsync(checkKnowledgeBases({ database }, inTenant(1), [1, 2, 3, 4, 5, 6]));
  t.true(isDomainError(error, 'invalid'));
});

test('requested bases that exist are summarized by id; without ids, the first bases are', async (t) => {
  const database = await testSchema(t, knowledgeSchema);
  const ids = await insertBases(database, 1, 202);
  const [foreign = 0] = await insertBases(database, 2, 1);
  const [first = 0, second = 0] = ids;
  await database.transact(1, ({ knex }) =>
    knex('knowledge_bases')
      .where({ id: second })
      .update({ description: 'd'.repeat(600) }),
  );
  const asked = await summarizeKnowledgeBases({ database }, inTenant(1), [second, first, foreign, 999_999, 0, -1]);
  t.deepEqual(asked, [
    { id: first, name: 'Base', description: null },
    { id: second, name: 'Base', description: 'd'.repeat(500) },
  ]);
  const all = await summarizeKnowledgeBases({ database }, inTenant(1), []);
  t.deepEqual(idsOf(all), ids.slice(0, 200));
  const error = await t.throwsAsync(summarizeKnowledgeBases({ database }, inTenant(1), ids));
  t.true(isDomainError(error, 'invalid'));
});
