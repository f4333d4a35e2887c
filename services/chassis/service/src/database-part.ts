import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@parley/kernel/errors';
import type { Part } from '@parley/kernel/unit';
import type { Database } from '@parley/postgres/database/types';
import type { ServiceDependencies } from './service-dependencies.ts';

/** How long a database may take to answer a unit that starts: both may have been started together. */
const startPatienceMs = 30_000;
const askAgainMs = 250;

/**
 * A unit's database as a part: migrated on start where that is wanted, else waited for up to 30 s; asked for readiness,
 * closed on stop.
 */
export function databasePart(
  database: Database,
  { migrateOnStart }: Pick<ServiceDependencies, 'migrateOnStart'>,
): Part {
  return {
    name: 'database',
    async start() {
      await (migrateOnStart ? database.migrate() : untilItAnswers(database));
    },
    stop: () => database.close(),
    ready: () => database.ping(),
  };
}

async function untilItAnswers(database: Database): Promise<void> {
  const deadline = performance.now() + startPatienceMs;
  for (;;) {
    try {
      return await database.ping();
    } catch (error) {
      // A refused password does not mend itself.
      if (!isDomainError(error) || error.kind !== 'unavailable' || performance.now() > deadline) throw error;
    }
    await delay(askAgainMs);
  }
}
