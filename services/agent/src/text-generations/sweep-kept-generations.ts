import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import { repeated } from '@parley/kernel/timing/repeated';
import { rowsBy } from '@parley/postgres/database/rows';
import type { Ports } from '../ports.ts';

const sweptAtOnce = 100;

/**
 * Deletes stored answers that are older than the validity of an `Idempotency-Key` (a day). This includes the answers of deleted tenants.
 */
export async function sweepKeptGenerations(
  { database }: Pick<Ports, 'database'>,
  isStopping = () => false,
): Promise<void> {
  let swept: unknown[];
  do {
    swept = await database.transactShared(({ knex }) =>
      rowsBy(knex)(
        `DELETE FROM kept_generations WHERE ctid = ANY (ARRAY (
           SELECT ctid FROM kept_generations WHERE created_at < parley_now() - interval '2 days'
            ORDER BY created_at LIMIT ${sweptAtOnce} FOR UPDATE SKIP LOCKED))
         RETURNING key`,
        {},
      ),
    );
  } while (swept.length === sweptAtOnce && !isStopping());
}

export function keptGenerationSweep(ports: Pick<Ports, 'database'>, log: Pick<Logger, 'warn'>): Part {
  const failure = 'old generations not deleted; will retry';
  const options = { name: 'sweep of kept generations', pauseMs: 60_000, failure, log };
  return repeated(options, (stopping) => sweepKeptGenerations(ports, () => stopping.aborted));
}
