import { createHash } from 'node:crypto';
import { isDatabaseError } from '@parley/kernel/database-errors';
import type { Logger } from '@parley/kernel/telemetry/log';

export type PreparedStatements = ReturnType<typeof preparedStatements>;

/** Number of times that a text is sent before it is prepared. A text that was made for one call never reaches this number. */
const sendsBefore = 3;
/** Maximum number of prepared statements; each takes memory on every connection. */
const maxPrepared = 200;
/** Maximum number of texts whose sends are counted. */
const maxCounted = 1_000;
/**
 * A new generation starts after this number of sends of unprepared texts, if the current generation is older than `renewAfterMs`. The texts
 * of lists depend on the fields that clients select, and outdated texts must not keep current ones from being prepared.
 */
const maxLeftOut = 10_000;
/** Minimum lifetime of a generation, in ms. */
const renewAfterMs = 600_000;
/** Number of times that prepared statements are lost before no more are prepared: the pooler does not support them then. */
const maxLosses = 3;

/** SQLSTATEs: the statement is missing on its connection, or another client of the pooler has prepared it there. */
const missingCodes = new Set(['26000', '42P05']);
/**
 * The function in PostgreSQL's own code that refuses a plan whose result columns have changed. The function's name is compared, because the
 * error message is localized.
 */
const refusesPlan = 'RevalidateCachedQuery';
/** SQLSTATEs of a mismatch: column types changed after the statement was prepared, so its parameters no longer match or fit. */
const mismatchCodes = new Set(['42804', '42883', '22003']);

export interface PreparedStatementsOptions {
  log?: Pick<Logger, 'warn'> | undefined;
  /** A monotonic clock in ms. */
  now?: () => number;
}

/**
 * Decides which statements of a pool are prepared, so that the server parses and plans them once for each connection.
 * @param schemaName becomes a part of the statements' names, because the same text refers to other tables in another schema
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
     * A part of all statement names. A new generation begins when prepared statements no longer fit. Connections with statements of an
     * earlier generation are then closed, which frees the memory of these statements on the server.
     */
    get generation() {
      return generation;
    },

    /** Returns the name under which to prepare `sql`; undefined if `sql` is rare or too many statements are prepared. */
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
     * Call this with every statement error and the name under which the statement was sent. Returns true if the statement may have failed
     * because it was prepared: the same transaction may then succeed without prepared statements. Such failures occur after a migration
     * that changes columns, and behind a pooler that switches to a connection without the statement.
     */
    failed(name: string | undefined, error: unknown): boolean {
      if (name === undefined || !isDatabaseError(error)) return false;
      const { code } = error;
      // The statement or its values may themselves be wrong, so all other statements stay prepared.
      if (mismatchCodes.has(code)) return true;
      const isMissing = missingCodes.has(code);
      if (!isMissing && error.routine !== refusesPlan) return false;
      // Concurrent transactions fail together; only the first failure starts a new generation.
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
