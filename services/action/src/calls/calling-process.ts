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
 * This process as one that makes calls: while it has any, it renews its lease, so that others can tell calls that run from those of a
 * process that has died.
 */
export function callingProcess({ database, leaseMs, log }: CallingProcessOptions) {
  const id = randomUUID();
  const renewAfterMs = leaseMs / 3;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let renewing: Promise<void> | undefined;
  let calls = 0;
  /** How many requests of this process may be making a call, by its name. */
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
      const left = (making.get(name) ?? 0) - 1;
      if (left > 0) making.set(name, left);
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
     * Notes, before a call is begun, that this process may be making it. Call the result when it is over, or was begun before.
     * @param name of the call, over all tenants
     */
    making: beginMaking,
    /** Goes on storing the result of a call, which until then is still one that this process makes. */
    storeLater: (name: string, store: () => Promise<unknown>) => void storeLater(name, store),
    /** Gives up what is not stored yet. */
    stop(): void {
      isStopped = true;
    },
    /** Whether this process has begun a call and makes it no more: its beginning or its end could not be stored. */
    hasLost: (name: string, processId: string): boolean => processId === id && !making.has(name),
    /** Runs `work` under the lease. @throws DomainError `unavailable` */
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

/** Results that wait for the database, each of up to 1 MB, and for how long. */
const maxUnstored = 64;
const unstoredMs = 600_000;

const leaseEnd = `parley_now() + cast(:leaseMs AS integer) * interval '1 ms'`;

/** The condition on a call that nobody makes any more. */
export const lapsedSql = `NOT EXISTS (SELECT FROM calling_processes
  WHERE calling_processes.id = turn_calls.process_id AND lease_until > parley_now())`;
