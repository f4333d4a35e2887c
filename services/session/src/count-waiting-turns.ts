import type { Database } from '@parley/postgres/database/types';
import { turnKind } from './turn-job.ts';

export function countWaitingTurns(database: Database): Promise<number> {
  return database.transactShared(async ({ knex }) => {
    const { rows } = await knex.raw(`SELECT count(*) AS count FROM jobs WHERE kind = :turnKind AND state = 'queued'`, {
      turnKind,
    });
    return rows[0].count;
  });
}
