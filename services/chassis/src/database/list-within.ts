import type { Knex } from 'knex';
import type { AnswerRoom, AskedFields } from '../answer-budget.ts';
import type { Transaction } from './types.ts';

/** A column that may be long: read, and counted, only where its field is asked for. */
export interface LongColumn {
  /** The field that shows it. */
  field: string;
  column: string;
  /** What stands in its place when it is not asked for, as SQL. Default: nothing, and the row goes without it. */
  instead?: string;
}

/**
 * The columns of a list's query: those given, the long ones among them that are asked for, and `answer_bytes`, what the row takes
 * in the answer. Names come from the code, never from a request.
 */
export function columnsWithin(columns: readonly string[], long: readonly LongColumn[], fields: AskedFields): string {
  const asked = long.filter(({ field }) => fields.times(field) > 0);
  const others = long.filter(({ field, instead }) => fields.times(field) === 0 && instead !== undefined);
  const sizes = asked.map(
    // The length of a text is known without reading it, and the cast of one does nothing.
    ({ field, column }) => `${fields.times(field)} * coalesce(octet_length(cast(${column} AS text)), 0)`,
  );
  return [
    ...columns,
    ...asked.map(({ column }) => column),
    ...others.map(({ column, instead }) => `${instead} AS ${column}`),
    `cast(${[fields.objectBytes, ...sizes].join(' + ')} AS bigint) AS answer_bytes`,
  ].join(', ');
}

/**
 * The rows of a query that bears `answer_bytes`, in its order, where all of them fit. The database adds up first, stops where it
 * is too much, and gives out none then.
 * @throws DomainError `invalid`, `ANSWER_TOO_LARGE`.
 */
export async function listWithin<Row extends object>(
  { knex }: Pick<Transaction, 'knex'>,
  room: AnswerRoom,
  list: Knex.QueryBuilder,
): Promise<Row[]> {
  const sums = knex
    .select(knex.raw('sum(answer_bytes) OVER (ROWS UNBOUNDED PRECEDING) AS bytes'))
    .from(list.as('list'));
  const excess = knex.select(knex.raw('1')).from(sums.as('sums')).where('bytes', '>', room.bytesLeft);

  const rows: (Row & { answer_bytes: string })[] = await knex.select('*').from(list.as('list')).whereNotExists(excess);
  if (rows.length === 0 && (await excess.limit(1)).length > 0) room.charge(Number.POSITIVE_INFINITY);
  room.charge(rows.reduce((sum, { answer_bytes }) => sum + Number(answer_bytes), 0));
  return rows;
}
