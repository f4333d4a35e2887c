import { isDomainError } from '@parley/kernel/errors';
import type { Database } from '@parley/postgres/database/types';
import { requestOf } from '@parley/testing/request-of';
import { testSchema } from '@parley/testing/test-schema';
import test from 'ava';
import { checkKnowledgeBases } from '../src/check-knowledge-bases.ts';
import { knowledgeSchema } from '../src/knowledge-schema.ts';

const inTenant = (tenantId: number) => requestOf({ kind: 'user', tenantId, userId: 1, requestId: 'test' } as const);

function insertBases(database: Database, tenantId: number, count: number): Promise<number[]> {
  const rows = Array.from({ length: count }, () => ({ tenantId, name: 'Base', embeddingModel: 'm' }));
  return database.transact(tenantId, ({ knex }) => knex('knowledge_bases').insert(rows).returning('id').then(idsOf));
}
const idsOf = (rows: { id: number }[]) => rows.map(({ id }) => id);

test("live bases of the caller's tenant are there", async (t) => {
  const database = await testSchema(t, knowledgeSchema);
  const ids = await insertBases(database, 1, 5);
  await t.notThrowsAsync(checkKnowledgeBases({ database }, inTenant(1), ids));
  await t.notThrowsAsync(checkKnowledgeBases({ database }, inTenant(1), []));
});

test("an absent, a deleted and another tenant's base are not found alike", async (t) => {
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
