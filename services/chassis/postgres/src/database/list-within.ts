import type { ListBounds } from '@parley/kernel/answer-budget';
import type { Knex } from 'knex';
import { readColumn, type Table, valueOf } from './table.ts';
import type { Transaction } from './types.ts';

type AnswerDb = Pick<Transaction, 'knex' | 'answer'>;

/**
 * Returns the columns of a list's query: the table's columns, except long ones that are not selected, and `answer_bytes`, the size of the
 * row in the answer.
 */
export function columnsWithin<Row extends object>(db: AnswerDb, { name, columns }: Table<Row>): string {
  const { fields } = answerOf(db);
  const entries = Object.entries(columns);
  const sizes = entries
    .filter(([field, { long }]) => long && fields.times(field) > 0)
    // PostgreSQL stores the length of a text, so reading the length is cheap; casting a text to text costs nothing.
    .map(
      ([field, options]) =>
        `${fields.times(field)} * coalesce(octet_length(cast(${valueOf(name, field, options)} AS text)), 0)`,
    );
  const read = entries.flatMap(([field, { long, ...options }]) => {
    if (!long || fields.times(field) > 0) return readColumn(name, field, options);
    return long === true ? [] : readColumn(name, field, { sql: () => long });
  });
  return [...read, `cast(${[fields.objectBytes, ...sizes].join(' + ')} AS bigint) AS answer_bytes`].join(', ');
}

/**
 * Returns the rows of a query that selects `answer_bytes`, in the order of the query, if their total size is within the limit. The database
 * adds up the sizes first, and returns no row if they exceed the limit. Rows keep `answerBytes`: removing it needs a copy of each row,
 * which costs half as much as reading the row.
 * @throws DomainError `invalid` (`ANSWER_TOO_LARGE`) if the total size exceeds the limit.
 */
export async function listWithin<Row extends object>(
  db: AnswerDb,
  list: Knex.QueryBuilder,
): Promise<(Row & { answerBytes: number })[]> {
  const { knex } = db;
  const { allowance } = answerOf(db);
  const sums = knex
    .select(knex.raw('sum(answer_bytes) OVER (ROWS UNBOUNDED PRECEDING) AS bytes'))
    .from(list.as('list'));
  const excess = knex.select(knex.raw('1')).from(sums.as('sums')).where('bytes', '>', allowance.remainingBytes);

  const rows: (Row & { answerBytes: number })[] = await knex.select('*').from(list.as('list')).whereNotExists(excess);
  if (rows.length === 0 && (await excess.limit(1)).length > 0) allowance.charge(Number.POSITIVE_INFINITY);
  allowance.charge(rows.reduce((sum, { answerBytes }) => sum + answerBytes, 0));
  return rows;
}

/** Throws if the transaction has no budget, so that an unbounded list fails in its first test. */
function answerOf({ answer }: AnswerDb): ListBounds {
  if (!answer) throw new Error('A list is read without a bound: use answerDatabase or wholeRowsDatabase');
  return answer;
}
