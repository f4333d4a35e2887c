import type { CallerRequest, TenantRequest } from '@parley/kernel/caller-request';
import { rowsBy } from './database/rows.ts';
import type { Database, Migration, TenantDb } from './database/types.ts';

/**
 * The internal table of the keys under which a service has committed effects. It has no row-level security, so that a sweep reaches the
 * keys of all tenants.
 */
export const committedKeysTable = 'committed_keys';

/** Retention of keys, which is longer than the validity of an `Idempotency-Key`. */
const keptFor = `interval '2 days'`;
const sweptAtOnce = 4;

/**
 * Makes the migration that creates the table of committed keys; a service adds it to its migrations under the next number, e.g.
 * `004-committed-keys`.
 */
export function committedKeysMigration(name: string): Migration {
  return {
    name,
    async up(knex) {
      await knex.raw(`
        CREATE TABLE ${committedKeysTable} (
          tenant_id integer NOT NULL,
          key text NOT NULL,
          result text, -- null only within the transaction of the effect
          committed_at timestamptz NOT NULL DEFAULT parley_now(),
          PRIMARY KEY (tenant_id, key)
        );
        CREATE INDEX ${committedKeysTable}_age ON ${committedKeysTable} (committed_at)`);
    },
  };
}

/**
 * Runs `effect` only once for all requests with the same effect key, and resolves with the result of this run. The key commits with the
 * effect. A request without a key always runs `effect`.
 */
export async function onceUnder(
  db: TenantDb,
  { effectKey }: Pick<CallerRequest, 'effectKey'>,
  effect: () => Promise<string>,
): Promise<string> {
  return effectKey === undefined ? effect() : (await committedKeys(db).once(effectKey, effect)).result;
}

/** Returns the result of `onceUnder` in an earlier attempt of this request; undefined if no earlier attempt has committed. */
export async function committedUnder(
  database: Pick<Database, 'read'>,
  { caller, effectKey }: TenantRequest,
): Promise<string | undefined> {
  return effectKey === undefined
    ? undefined
    : database.read(caller.tenantId, (db) => committedKeys(db).find(effectKey));
}

/** The committed effects of the tenant's requests with an `Idempotency-Key`, by `effectKey`. */
export function committedKeys({ knex, tenantId }: TenantDb) {
  const rows = rowsBy(knex);
  return {
    /** Returns the result that was committed under a key; undefined if there is none. */
    async find(key: string): Promise<string | undefined> {
      const [found] = await rows<{ result: string }>(
        `SELECT result FROM ${committedKeysTable} WHERE tenant_id = :tenantId AND key = :key`,
        { tenantId, key },
      );
      return found?.result;
    },

    /**
     * Runs `effect` unless an effect was committed under the key; resolves with the result of the committed effect. The key commits with
     * the effect. A concurrent call waits until the first has committed (and then runs nothing) or rolled back (and then runs the effect
     * itself).
     */
    async once(key: string, effect: () => Promise<string>): Promise<{ result: string; ran: boolean }> {
      const [[taken]] = await Promise.all([
        rows<{ result: string | null }>(
          `INSERT INTO ${committedKeysTable} (tenant_id, key) VALUES (:tenantId, :key)
           ON CONFLICT (tenant_id, key) DO UPDATE SET key = excluded.key RETURNING result`,
          { tenantId, key },
        ),
        rows(
          `DELETE FROM ${committedKeysTable} WHERE ctid = ANY (ARRAY (
             SELECT ctid FROM ${committedKeysTable} WHERE committed_at < parley_now() - ${keptFor}
              ORDER BY committed_at LIMIT ${sweptAtOnce} FOR UPDATE SKIP LOCKED))`,
          {},
        ),
      ]);
      if (taken && taken.result !== null) return { result: taken.result, ran: false };
      const result = await effect();
      await rows(`UPDATE ${committedKeysTable} SET result = :result WHERE tenant_id = :tenantId AND key = :key`, {
        tenantId,
        key,
        result,
      });
      return { result, ran: true };
    },
  };
}
