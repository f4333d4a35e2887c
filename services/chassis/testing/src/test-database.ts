import { type EmbeddedDatabase, startEmbeddedDatabase } from '@parley/embedded/embedded';
import { databaseSnapshot } from './database-snapshot.ts';

export { databaseSnapshot, migratedSnapshot } from './database-snapshot.ts';

/** What a test has its database on: a PostgreSQL server, or PGlite inside its process. */
export type DatabaseEngine = 'server' | 'embedded';

/** The server that `TEST_DATABASE_URL` names, or else the embedded database. */
export function usualEngine(): DatabaseEngine {
  return process.env['TEST_DATABASE_URL'] ? 'server' : 'embedded';
}

let started: Promise<EmbeddedDatabase> | undefined;

/**
 * Connection string of a PostgreSQL for tests. The embedded one is in memory, starts with the first call, is shared by all tests
 * of the process and ends with it. Tests make schemas of their own in it, and close their connections.
 *
 * @param snapshot What the embedded database begins from, where this is the first call. Default: an empty cluster.
 */
export async function testDatabaseUrl(
  engine: DatabaseEngine = usualEngine(),
  snapshot: () => string | Promise<string> = databaseSnapshot,
): Promise<string> {
  if (engine === 'embedded') {
    started ??= Promise.resolve(snapshot()).then((file) => startEmbeddedDatabase({ folder: null, snapshot: file }));
    return (await started).url;
  }
  const url = process.env['TEST_DATABASE_URL'];
  if (!url) throw new Error('TEST_DATABASE_URL names no server');
  return url;
}
