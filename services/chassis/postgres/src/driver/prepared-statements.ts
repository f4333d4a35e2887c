import { createHash } from 'node:crypto';
import { isDatabaseError } from '@parley/kernel/database-errors';
import type { Logger } from '@parley/kernel/telemetry/log';

export type PreparedStatements = ReturnType<typeof preparedStatements>;

/** Sent so often before it is prepared: a text that is made for one call is never sent again. */
const sendsBefore = 3;
/** Prepared statements take memory of every connection. */
const maxPrepared = 200;
/** Texts whose sends are counted. */
const maxCounted = 1_000;
/**
 * So many sends of other texts, and so much time since the last one began, make a new generation: the texts of lists depend on what
 * clients select, and those of an hour ago must not keep out those of now.
 */
const maxLeftOut = 10_000;
const renewAfterMs = 600_000;
/** A pooler without support for prepared statements loses them again and again: then none is prepared any more. */
const maxLosses = 3;

/** The statement is missing on its connection, or another client of the pooler has prepared it there. */
const missingCodes = new Set(['26000', '42P05']);
/** Where the server refuses a plan whose result has other columns than before. Its message is in the server's language. */
const refusesPlan = 'RevalidateCachedQuery';
/** Its parameters have the types that columns had when it was prepared: they no longer match, or a value does not fit. */
const mismatchCodes = new Set(['42804', '42883', '22003']);

export interface PreparedStatementsOptions {
  log?: Pick<Logger, 'warn'> | undefined;
  /** A monotonic clock in ms. */
  now?: () => number;
}

/**
 * Which statements of a pool are prepared, so that the server parses and plans them once for each connection.
 * @param schemaName part of the names: the same text means other tables in another schema.
 */
export function preparedStatements(
  schemaName: string,
  { log, now = () => performance.now() }: PreparedStatementsOptions = {},
) {
  const names = new Map<string, string>();
  const sends = new Map<string, number>();
  let generation = 0;
  let begunAtMs = now();
  let leftOut = 0;
  let losses = 0;

  function renew(): void {
    names.clear();
    generation += 1;
    begunAtMs = now();
    leftOut = 0;
  }

  return {
    /**
     * Part of all names. A new one begins when prepared statements no longer fit; then connections on which statements of an earlier
     * one were prepared are closed, which frees their memory on the server.
     */
    get generation() {
      return generation;
    },

    /** The name under which to prepare `sql`; undefined for one that is rare, or where too many are prepared. */
    nameOf(sql: string): string | undefined {
      const known = names.get(sql);
      if (known !== undefined || losses >= maxLosses) return known;
      if (names.size >= maxPrepared) {
        leftOut += 1;
        if (leftOut >= maxLeftOut && now() - begunAtMs >= renewAfterMs) renew();
        return undefined;
      }
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

    /**
     * Call it with the error of each statement and the name under which it was sent. Whether it may have failed because it was
     * prepared, so that the same transaction, run without prepared statements, may succeed. Happens after a migration that changes
     * columns, and behind a pooler that gives a transaction a connection on which the statement is missing.
     */
    failed(name: string | undefined, error: unknown): boolean {
      if (name === undefined || !isDatabaseError(error)) return false;
      const { code } = error;
      // The statement or its values may be wrong in themselves, so the others stay prepared.
      if (mismatchCodes.has(code)) return true;
      const isMissing = missingCodes.has(code);
      if (!isMissing && error.routine !== refusesPlan) return false;
      // Transactions that run at once fail together.
      if (!name.endsWith(`.${generation}`)) return true;
      renew();
      if (isMissing) losses += 1;
      if (isMissing && losses === maxLosses) {
        log?.warn({ schema: schemaName, code }, 'prepared statements are lost on the way; none is prepared any more');
      }
      return true;
    },
  };
}
