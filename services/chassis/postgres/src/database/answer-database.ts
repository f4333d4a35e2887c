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
 * The same database for one field of an answer: lists read these fields only, within the answer's budget. Before it takes a
 * connection, each transaction waits for earlier ones with the same budget, so that none exceeds what is left.
 */
export function answerDatabase(database: Database, budget: AnswerBudget, fields: SelectedFields): Database {
  return boundedDatabase(database, (read) => budget.runExclusive((allowance) => read({ allowance, fields })));
}

/** The same database for reading whole rows: the lists of one transaction may have `maxBytes` together. */
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
