import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import { repeated } from '@parley/kernel/timing/repeated';
import { rowsBy } from '@parley/postgres/database/rows';
import type { Ports } from '../ports.ts';
import { syncDeliveryStore } from './sync-delivery-store.ts';

type SweepPorts = Pick<Ports, 'database' | 'sync'>;

const rowsAtOnce = 500;
const daysAtOnce = 100;

/** Deletes deliveries of all tenants that ended more than `logDays` ago. */
export async function sweepDeliveries({ database, sync }: SweepPorts, isStopping = () => false): Promise<void> {
  const { logDays } = sync.settings;
  let due: { tenantId: number; day: string }[];
  do {
    due = await database.transactShared(({ knex }) =>
      rowsBy(knex)<{ tenantId: number; day: string }>(
        `SELECT tenant_id, cast(day AS text) FROM sync_delivery_days
          WHERE day < cast(parley_now() AT TIME ZONE 'UTC' AS date) - cast(:logDays AS integer) ORDER BY day LIMIT ${daysAtOnce}`,
        { logDays },
      ),
    );
    for (const { tenantId, day } of due) {
      const sweepSome = () =>
        database.transact(tenantId, async (db) => {
          if (!(await syncDeliveryStore(db).deleteUntil(day, rowsAtOnce))) return false;
          await rowsBy(db.knex)(
            'DELETE FROM sync_delivery_days WHERE tenant_id = :tenantId AND day = cast(:day AS date)',
            { tenantId, day },
          );
          return true;
        });
      while (!isStopping() && !(await sweepSome()));
    }
  } while (due.length === daysAtOnce && !isStopping());
}

export function deliverySweep(ports: SweepPorts, log: Pick<Logger, 'warn'>): Part {
  const failure = 'old deliveries not deleted; will retry';
  const options = { name: 'sweep of deliveries', pauseMs: 10 * 60_000, failure, log };
  return repeated(options, (stopping) => sweepDeliveries(ports, () => stopping.aborted));
}
