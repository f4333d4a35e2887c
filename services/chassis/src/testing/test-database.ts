import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '../database/embedded.ts';

let started: Promise<EmbeddedDatabase> | undefined;

/**
 * Connection string of a PostgreSQL for tests: the server that `TEST_DATABASE_URL` names, or else an embedded one in
 * memory, which starts with the first call, is shared by all tests of the file and ends with it. Tests make schemas of
 * their own in it, and close their connections.
 */
export async function testDatabaseUrl(): Promise<string> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given) return given;
  started ??= startEmbeddedDatabase({ folder: null, snapshot: databaseSnapshot() });
  return (await started).url;
}

/** Where the empty cluster is kept from which the embedded databases of all tests begin. */
export function databaseSnapshot(): string {
  const manifest = findPackageJSON('@electric-sql/pglite', import.meta.url);
  if (manifest === undefined) throw new Error('@electric-sql/pglite is not installed');
  const { version }: { version: string } = JSON.parse(readFileSync(manifest, 'utf8'));
  return fileURLToPath(new URL(`../../../../node_modules/.cache/parley/pglite-${version}.tar`, import.meta.url));
}
