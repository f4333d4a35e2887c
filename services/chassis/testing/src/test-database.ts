import { type EmbeddedDatabase, startEmbeddedDatabase } from '@parley/embedded/embedded';
import { databaseSnapshot } from './database-snapshot.ts';

export { databaseSnapshot, migratedSnapshot } from './database-snapshot.ts';

/** A PostgreSQL server, or PGlite in the test's process. */
export type DatabaseEngine = 'server' | 'embedded';

/** Returns the database engine for tests: the server at `TEST_DATABASE_URL` if that is set, otherwise the embedded database. */
export function defaultEngine(): DatabaseEngine {
  return process.env['TEST_DATABASE_URL'] ? 'server' : 'embedded';
}

let started: Promise<EmbeddedDatabase> | undefined;

/**
 * Returns the connection string of a database for tests. Tests create their own schemas in it and close their connections. The embedded
 * database is in memory, starts with the first call and is shared by all tests of the process.
 * @param snapshot the file from which the embedded database starts; used by the first call. Default: an empty cluster.
 */
export async function testDatabaseUrl(
  engine: DatabaseEngine = defaultEngine(),
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
