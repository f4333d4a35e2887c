import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import { repeated } from '@parley/kernel/timing/repeated';
import { rowsBy } from '@parley/postgres/database/rows';
import type { Ports } from '../ports.ts';
import { interruptCall } from './interrupt-call.ts';
import { outboundCallStore } from './outbound-call-store.ts';
import { deleteOldCalls, listLapsedCalls } from './turn-call-store.ts';

type SweepPorts = Pick<Ports, 'database' | 'limits' | 'box' | 'metrics'>;

const rowsAtOnce = 500;
const daysAtOnce = 100;
const lapsedAtOnce = 20;

/**
 * Marks abandoned calls as interrupted, and deletes old records of all tenants: calls of turns after a day, log entries
 * after `logDays`.
 */
export async function sweepCalls(ports: SweepPorts, isStopping = () => false): Promise<void> {
  await endLapsed(ports, isStopping);
  await sweepTurnCalls(ports, isStopping);
  await sweepLogs(ports, isStopping);
}

/**
 * Marks calls of dead processes as interrupted, so that they appear in the tenant's log even if nobody requests them
 * again.
 */
async function endLapsed(ports: SweepPorts, isStopping: () => boolean): Promise<void> {
  let lapsed: Awaited<ReturnType<typeof listLapsedCalls>>;
  do {
    lapsed = await ports.database.transactShared((db) => listLapsedCalls(db, lapsedAtOnce));
    for (const call of lapsed) if (!isStopping()) await interruptCall(ports, call.tenantId, call);
  } while (lapsed.length === lapsedAtOnce && !isStopping());
}

async function sweepTurnCalls({ database }: SweepPorts, isStopping: () => boolean): Promise<void> {
  const deleteSome = () => database.transactShared((db) => deleteOldCalls(db, rowsAtOnce));
  while (!isStopping() && (await deleteSome()) === rowsAtOnce);
  // Two days after a process's lease ended, none of its calls remains.
  await database.transactShared(({ knex }) =>
    rowsBy(knex)(`DELETE FROM calling_processes WHERE lease_until < parley_now() - interval '2 days'`, {}),
  );
}

async function sweepLogs({ database, limits: { logDays } }: SweepPorts, isStopping: () => boolean): Promise<void> {
  let due: { tenantId: number; day: string }[];
  do {
    due = await database.transactShared(({ knex }) =>
      rowsBy(knex)<{ tenantId: number; day: string }>(
        `SELECT tenant_id, cast(day AS text) FROM outbound_call_days
          WHERE day < cast(parley_now() AT TIME ZONE 'UTC' AS date) - cast(:logDays AS integer) ORDER BY day LIMIT ${daysAtOnce}`,
        { logDays },
      ),
    );
    for (const { tenantId, day } of due) {
      const sweepSome = () =>
        database.transact(tenantId, async (db) => {
          if (!(await outboundCallStore(db).deleteUntil(day, rowsAtOnce))) return false;
          await rowsBy(db.knex)(
            'DELETE FROM outbound_call_days WHERE tenant_id = :tenantId AND day = cast(:day AS date)',
            {
              tenantId,
              day,
            },
          );
          return true;
        });
      while (!isStopping() && !(await sweepSome()));
    }
  } while (due.length === daysAtOnce && !isStopping());
}

export function callSweep(ports: SweepPorts, log: Pick<Logger, 'warn'>): Part {
  const failure = 'old calls not deleted; will retry';
  const options = { name: 'sweep of calls', pauseMs: 10 * 60_000, failure, log };
  return repeated(options, (stopping) => sweepCalls(ports, () => stopping.aborted));
}
