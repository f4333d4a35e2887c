import {
  type AnswerBudget,
  answerBudget,
  defaultMaxAnswerBytes,
  type ListBounds,
  objectBytesOf,
  type SelectedFields,
} from '@parley/kernel/answer-budget';
import type { Database, SharedDb, TenantDb, TransactOptions } from './types.ts';

/**
 * Returns a view of the database for one field of an answer: lists read only the selected fields, within the answer's budget. Each
 * transaction waits for earlier ones with the same budget before it takes a connection, so that no transaction exceeds the remaining
 * budget.
 */
export function answerDatabase(database: Database, budget: AnswerBudget, fields: SelectedFields): Database {
  return boundedDatabase(database, (read) => budget.runExclusive((allowance) => read({ allowance, fields })));
}

/** Returns a view of the database for reading whole rows: the lists of one transaction may return `maxBytes` in total. */
export function wholeRowsDatabase(database: Database, maxBytes = defaultMaxAnswerBytes): Database {
  const fields = { times: () => 1, objectBytes: objectBytesOf(12) };
  return boundedDatabase(database, (read) =>
    answerBudget(maxBytes).runExclusive((allowance) => read({ allowance, fields })),
  );
}

function boundedDatabase(
  database: Database,
  within: <T>(read: (answer: ListBounds) => Promise<T>) => Promise<T>,
): Database {
  return {
    ...database,
    transact: <T>(tenantId: number, work: (db: TenantDb) => Promise<T>, options?: TransactOptions) =>
      within((answer) => database.transact(tenantId, (db) => work({ ...db, answer }), options)),
    read: <T>(tenantId: number, work: (db: TenantDb) => Promise<T>) =>
      within((answer) => database.read(tenantId, (db) => work({ ...db, answer }))),
    transactShared: <T>(work: (db: SharedDb) => Promise<T>, options?: TransactOptions) =>
      within((answer) => database.transactShared((db) => work({ ...db, answer }), options)),
  };
}
