import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, openAsBlob, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { serveOnSocket } from '@parley/embedded/embedded-socket';
import { openDatabase } from '@parley/postgres/database/open';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { schemaHash } from './schema-hash.ts';

const cacheFolder = fileURLToPath(new URL('../../../../node_modules/.cache/parley/', import.meta.url));

/** Returns the file of the empty cluster from which embedded databases start. The first start that finds no such file writes it. */
export function databaseSnapshot(): string {
  return join(cacheFolder, `pglite-${pgliteVersion()}.tar`);
}

/**
 * Returns the file of a cluster for `startEmbeddedDatabase` that has these schemas, migrated, under their own names. The first call makes
 * the file; it is made again when a migration or PGlite has changed.
 */
export async function migratedSnapshot(schemas: SchemaDeclaration[]): Promise<string> {
  const hashes = await Promise.all(schemas.map(async (schema) => `${schema.name} ${await schemaHash(schema)}`));
  const hash = createHash('sha256').update(hashes.join('\n')).digest('hex').slice(0, 12);
  const label = schemas.map(({ name }) => name).join('-');
  return filledSnapshot(label, hash, async (url) => {
    for (const schema of schemas) {
      const database = openDatabase({ url, schema, poolSize: 1 });
      await database.migrate();
      await database.close();
    }
  });
}

/**
 * Returns the file of a cluster that `fill` filled, cached under the `hash` of its content. Files with the same label and another hash are
 * deleted.
 */
export async function filledSnapshot(
  label: string,
  hash: string,
  fill: (url: string) => Promise<void>,
): Promise<string> {
  const name = `pglite-${pgliteVersion()}-${label}-`;
  const file = join(cacheFolder, `${name}${hash}.tar`);
  if (existsSync(file)) return file;
  const empty = databaseSnapshot();
  const db = await PGlite.create({
    extensions: { vector },
    ...(existsSync(empty) && { loadDataDir: await openAsBlob(empty) }),
  });
  const socketFolder = mkdtempSync(join(tmpdir(), 'parley-db-'));
  try {
    const failed = Promise.withResolvers<never>();
    const socket = await serveOnSocket(db, {
      path: join(socketFolder, '.s.PGSQL.5432'),
      idleInTransactionTimeoutMs: 60_000,
      failed: failed.reject,
    });
    const url = `postgresql://postgres@localhost:5432/postgres?host=${encodeURIComponent(socketFolder)}&sslmode=disable`;
    await Promise.race([fill(url), failed.promise]);
    await socket.stop();
    await db.exec('CHECKPOINT');
    const dump = await db.dumpDataDir('none');
    mkdirSync(cacheFolder, { recursive: true });
    const temporary = `${file}.${randomUUID()}`; // the file gets its final name when it is complete
    await writeFile(temporary, dump.stream());
    for (const other of readdirSync(cacheFolder)) {
      const isOld = other.startsWith(name) && other.endsWith('.tar') && other !== basename(file);
      if (isOld) rmSync(join(cacheFolder, other), { force: true });
    }
    if (existsSync(file)) rmSync(temporary);
    else renameSync(temporary, file);
  } finally {
    await db.close();
    rmSync(socketFolder, { recursive: true, force: true });
  }
  return file;
}

function pgliteVersion(): string {
  const manifest = findPackageJSON('@electric-sql/pglite', import.meta.url);
  if (manifest === undefined) throw new Error('@electric-sql/pglite is not installed');
  const { version }: { version: string } = JSON.parse(readFileSync(manifest, 'utf8'));
  return version;
}
