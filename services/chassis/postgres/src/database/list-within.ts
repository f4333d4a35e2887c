import type { ListBounds } from '@parley/kernel/answer-budget';
import type { Knex } from 'knex';
import { readColumn, type Table } from './table.ts';
import type { TenantDb } from './types.ts';

type AnswerDb = Pick<TenantDb, 'knex' | 'answer'>;

/**
 * The columns of a list's query: those of the table, the long ones among them where they are asked for, and `answer_bytes`, what
 * the row takes in the answer.
 */
export function columnsWithin<Row extends object>(db: AnswerDb, { name, columns }: Table<Row>): string {
  const { fields } = answerOf(db);
  const entries = Object.entries(columns);
  const sizes = entries
    .filter(([field, { long }]) => long && fields.times(field) > 0)
    // The length of a text is known without reading it, and the cast of one does nothing.
    .map(
      ([field]) => `${fields.times(field)} * coalesce(octet_length(cast(${readColumn(name, field, {})} AS text)), 0)`,
    );
  const read = entries.flatMap(([field, { long, ...options }]) => {
    if (!long || fields.times(field) > 0) return readColumn(name, field, options);
    return long === true ? [] : readColumn(name, field, { sql: () => long });
  });
  return [...read, `cast(${[fields.objectBytes, ...sizes].join(' + ')} AS bigint) AS answer_bytes`].join(', ');
}

/**
 * The rows of a query that bears `answer_bytes`, in its order, where all of them fit. The database adds up first, stops where it
 * is too much, and gives out none then. Each keeps its `answerBytes`: copies without it would cost half of what reading does.
 * @throws DomainError `invalid`, `ANSWER_TOO_LARGE`.
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
  const excess = knex.select(knex.raw('1')).from(sums.as('sums')).where('bytes', '>', allowance.bytesLeft);

  const rows: (Row & { answerBytes: number })[] = await knex.select('*').from(list.as('list')).whereNotExists(excess);
  if (rows.length === 0 && (await excess.limit(1)).length > 0) allowance.charge(Number.POSITIVE_INFINITY);
  allowance.charge(rows.reduce((sum, { answerBytes }) => sum + answerBytes, 0));
  return rows;
}

/** A list that no budget bounds could fill the memory of everybody's turns: it fails in its first test. */
function answerOf({ answer }: AnswerDb): ListBounds {
  if (!answer) throw new Error('A list is read without a bound: use answerDatabase or wholeRowsDatabase');
  return answer;
}
