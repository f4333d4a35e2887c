import { randomBytes } from 'node:crypto';
import { openPool } from '@parley/chassis/database/pool';

/** A database of the bench's own, beside the one that `url` names. */
export interface OwnDatabase {
  url: string;
  drop(): Promise<void>;
}

/** Makes a database on the server of `url`, whose login has to be allowed to. */
export async function createOwnDatabase(url: string): Promise<OwnDatabase> {
  const name = `parley_bench_${randomBytes(4).toString('hex')}`;
  await run(url, `CREATE DATABASE ${name}`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return { url: own.href, drop: () => run(url, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function run(url: string, statement: string): Promise<void> {
  const pool = openPool({ url, poolSize: 1, statementTimeoutMs: 30_000 });
  try {
    await pool.raw(statement);
  } finally {
    await pool.destroy();
  }
}
