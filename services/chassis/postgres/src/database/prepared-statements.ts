import { createHash } from 'node:crypto';
import { isDatabaseError } from '@parley/kernel/database-errors';

/** Which statements of a pool are prepared, so that the server parses and plans them once for each connection. */
export interface PreparedStatements {
  /** The name under which to prepare `sql`; undefined for one that is rare, or where too many are prepared. */
  nameOf(sql: string): string | undefined;
  /**
   * Whether a transaction failed because of a prepared statement, not of its work: then it may run again, and no statement is used
   * that was prepared before. Happens after a migration that changes the columns of a `SELECT *`, and behind a pooler that gives a
   * transaction a connection on which the statement is missing.
   */
  isStale(error: unknown): boolean;
}

/** Sent so often before it is prepared: a text that is made for one call is never sent again. */
const sendsBefore = 3;
/** Prepared statements take memory of every connection. */
const maxPrepared = 200;
/** Texts whose sends are counted. */
const maxCounted = 1_000;
/** A pooler without support for prepared statements loses them again and again: then none is prepared any more. */
const maxMissing = 3;

/** @param schemaName part of the names: the same text means other tables in another schema. */
export function preparedStatements(schemaName: string): PreparedStatements {
  const names = new Map<string, string>();
  const sends = new Map<string, number>();
  let generation = 0;
  let missing = 0;

  return {
    nameOf(sql) {
      const known = names.get(sql);
      if (known !== undefined || names.size >= maxPrepared || missing >= maxMissing) return known;
      const count = (sends.get(sql) ?? 0) + 1;
      if (count <= sendsBefore) {
        if (sends.size >= maxCounted) sends.clear();
        sends.set(sql, count);
        return undefined;
      }
      sends.delete(sql);
      const hash = createHash('sha256').update(`${schemaName}\n${sql}`).digest('base64url').slice(0, 22);
      const name = `${hash}.${generation}`;
      names.set(sql, name);
      return name;
    },

    isStale(error) {
      if (!isDatabaseError(error)) return false;
      const isMissing = error.code === '26000' || error.code === '42P05';
      if (!isMissing && !(error.code === '0A000' && error.message.includes('cached plan'))) return false;
      if (isMissing) missing += 1;
      names.clear();
      generation += 1;
      return true;
    },
  };
}
