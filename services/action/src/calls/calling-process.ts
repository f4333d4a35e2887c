import { randomUUID } from 'node:crypto';
import type { Logger } from '@parley/kernel/telemetry/log';
import { whileUnavailable } from '@parley/kernel/timing/while-unavailable';
import { rowsBy } from '@parley/postgres/database/rows';
import type { Database } from '@parley/postgres/database/types';

export interface CallingProcessOptions {
  database: Pick<Database, 'transactShared'>;
  leaseMs: number;
  log: Pick<Logger, 'warn'>;
}

export type CallingProcess = ReturnType<typeof callingProcess>;

/**
 * Keeps the lease of this process for its calls. The lease is renewed while calls run, so that other processes can distinguish running
 * calls from the calls of a dead process.
 */
export function callingProcess({ database, leaseMs, log }: CallingProcessOptions) {
  const id = randomUUID();
  const renewAfterMs = leaseMs / 3;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let renewing: Promise<void> | undefined;
  let calls = 0;
  /** Number of requests in this process that may be making a call, by the call's name. */
  const making = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let unstored = 0;
  let isStopped = false;

  async function renewNow(): Promise<void> {
    const at = performance.now();
    await database.transactShared(({ knex }) =>
      rowsBy(knex)(
        `INSERT INTO calling_processes (id, lease_until) VALUES (:id, ${leaseEnd})
         ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`,
        { id, leaseMs },
      ),
    );
    renewedAt = at;
  }

  function renew(): Promise<void> {
    renewing ??= renewNow().finally(() => {
      renewing = undefined;
    });
    return renewing;
  }

  function begin(): void {
    calls += 1;
    timer ??= setInterval(() => {
      renew().catch((err: unknown) => log.warn({ err }, 'lease of calls not renewed; will retry'));
    }, renewAfterMs).unref();
  }

  function end(): void {
    calls -= 1;
    if (calls > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function beginMaking(name: string): () => void {
    making.set(name, (making.get(name) ?? 0) + 1);
    return () => {
      const remaining = (making.get(name) ?? 0) - 1;
      if (remaining > 0) making.set(name, remaining);
      else making.delete(name);
    };
  }

  async function storeLater(name: string, store: () => Promise<unknown>): Promise<void> {
    if (unstored === maxUnstored) return;
    const endMaking = beginMaking(name);
    const until = performance.now() + unstoredMs;
    unstored += 1;
    begin();
    try {
      await whileUnavailable(store, 1_000, () => !isStopped && performance.now() < until);
    } catch (err) {
      log.warn({ err }, 'result of a call lost');
    } finally {
      unstored -= 1;
      endMaking();
      end();
    }
  }

  return {
    id,
    /**
     * Registers a call of this process before the call is committed as begun. Run the returned function when the call has ended, or if an
     * earlier request has already begun the call.
     * @param name unique over all tenants, see `callName`
     */
    making: beginMaking,
    /** Keeps trying to store a result in the background. The call counts as running until it is stored. */
    storeLater: (name: string, store: () => Promise<unknown>) => void storeLater(name, store),
    /** Stops storing results that are still unstored. */
    stop(): void {
      isStopped = true;
    },
    /**
     * Reports whether this process began the call but no longer runs it, because the start or the result of the call could not be stored.
     */
    hasLost: (name: string, processId: string): boolean => processId === id && !making.has(name),
    /** Runs `work` under the lease. @throws DomainError `unavailable` if the lease cannot be renewed */
    async holding<T>(work: () => Promise<T>): Promise<T> {
      begin();
      try {
        if (performance.now() - renewedAt > renewAfterMs) await renew();
        return await work();
      } finally {
        end();
      }
    },
  };
}

/** Maximum number of results that are kept while the database is unavailable. Each has up to 1 MB. */
const maxUnstored = 64;
/** Maximum time in ms for which results are kept while the database is unavailable. */
const unstoredMs = 600_000;

const leaseEnd = `parley_now() + cast(:leaseMs AS integer) * interval '1 ms'`;

/** SQL condition: the process that made the call has no live lease. */
export const lapsedSql = `NOT EXISTS (SELECT FROM calling_processes
  WHERE calling_processes.id = turn_calls.process_id AND lease_until > parley_now())`;
