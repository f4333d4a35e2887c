import type { Part } from '@parley/kernel/processes/unit';
import { whileUnavailable } from '@parley/kernel/timing/while-unavailable';
import type { Database } from '@parley/postgres/database/types';
import type { ServiceDependencies } from './service-dependencies.ts';

/** How long a starting unit waits for its database, because both may have been started together. */
const startTimeoutMs = 30_000;
const retryIntervalMs = 250;

/**
 * The database as a part. On start it migrates the schema if `migrateOnStart` is set; otherwise it waits up to 30 s until the database
 * responds.
 */
export function databasePart(
  database: Database,
  { migrateOnStart }: Pick<ServiceDependencies, 'migrateOnStart'>,
): Part {
  return {
    name: 'database',
    async start() {
      await (migrateOnStart ? database.migrate() : waitForDatabase(database));
    },
    stop: () => database.close(),
    ready: () => database.ping(),
  };
}

async function waitForDatabase(database: Database): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  // Other errors, such as a wrong password, would not end by waiting.
  await whileUnavailable(
    () => database.ping(),
    retryIntervalMs,
    () => performance.now() <= deadline,
  );
}
