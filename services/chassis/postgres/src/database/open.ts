import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { isLostConnection, isRolledBack, transactionError } from '@parley/kernel/database-errors';
import { isDomainError, unavailable } from '@parley/kernel/errors';
import { fairQueue, type Release } from '@parley/kernel/fair-queue';
import type { Logger } from '@parley/kernel/log';
import type { Knex } from 'knex';
import { checkedSchemaName, checkedTenantId, rolesOf } from './identifiers.ts';
import { migrateSchema } from './migrate.ts';
import type { Opening } from './opening-client.ts';
import { openPool } from './pool.ts';
import type {
  Database,
  Registry,
  SchemaDeclaration,
  SharedDb,
  TenantDb,
  Transaction,
  TransactOptions,
} from './types.ts';

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`; the user must be allowed to take on the schema's roles. */
  url: string;
  schema: SchemaDeclaration;
  /** Where the schema is not to bear its declared name: tests give each its own. */
  schemaName?: string | undefined;
  /** Connections at most. Five to eight in total suit a database of two cores. */
  poolSize: number;
  /** Who owns the schema and runs migrations, where that is another login than `url`'s. */
  migrationsUrl?: string | undefined;
  /** How long one statement may run, in ms. Default 20 s. */
  statementTimeoutMs?: number | undefined;
  /** How long a statement may wait for a row that another transaction holds, in ms. Default 5 s. */
  lockTimeoutMs?: number | undefined;
  /** How long a transaction may wait for a free connection, in ms. Default 5 s. */
  acquireTimeoutMs?: number | undefined;
  /** Moves `parley_now()` of every transaction by so many ms. For tests. */
  clockOffsetMs?: (() => number) | undefined;
  log?: Logger | undefined;
}

/** What runs inside a transaction; it may ask whether the transaction is beyond help. */
type Work<T> = (db: Transaction, aborted: () => Promise<boolean>) => Promise<T>;

const pingTimeoutMs = 2_000;

const alone = { inFlight: 1 };

const tracer = trace.getTracer('parley.database');

/** Nothing is connected before the first use. */
export function openDatabase(options: DatabaseOptions): Database {
  const { url, schema, poolSize, statementTimeoutMs = 20_000, clockOffsetMs, log } = options;
  const schemaName = checkedSchemaName(options.schemaName ?? schema.name);
  const roles = rolesOf(schemaName);
  const { lockTimeoutMs, acquireTimeoutMs } = options;
  const pool = openPool({ url, poolSize, statementTimeoutMs, lockTimeoutMs, acquireTimeoutMs, mapsNames: true, log });
  const registry: Registry = { runners: new Map(), topics: new Map() };
  const wakes = new EventEmitter();
  wakes.setMaxListeners(0);
  const turns = fairQueue({ shares: { user: alone, tenant: alone, row: alone } });
  let closed = false;

  function settings(role: string, tenantId: number | undefined): string {
    const offsetMs = clockOffsetMs?.() ?? 0;
    return [
      `SET LOCAL ROLE ${role}`,
      `SET LOCAL search_path TO ${schemaName}, public`, // extensions put their types into public
      ...(tenantId === undefined ? [] : [`SET LOCAL parley.tenant TO '${checkedTenantId(tenantId)}'`]),
      ...(offsetMs === 0 ? [] : [`SET LOCAL parley.clock_offset TO '${Number(offsetMs)} milliseconds'`]),
    ].join('; ');
  }

  /** Runs `work` when nobody else of this process is at the same rows. */
  async function inTurn<T>({ turn, gone }: TransactOptions, work: () => Promise<T>): Promise<T> {
    if (!turn) return work();
    let end: Release;
    try {
      const entered = turns.enter(turn, () => gone);
      end = typeof entered === 'function' ? entered : await entered;
    } catch (error) {
      throw isDomainError(error) ? error : unavailable('The caller has gone', error);
    }
    try {
      return await work();
    } finally {
      end();
    }
  }

  /**
   * One message of the simple protocol begins and sets all of it: nothing is bound, nothing outlives the transaction. It runs a
   * second time where the first surely left nothing behind.
   */
  async function run<T>(opening: Opening, kind: string, work: Work<T>, beforeCommit?: (value: T) => void): Promise<T> {
    if (closed) throw unavailable('The database is closed');
    let effects: (() => void)[] = [];
    let woken = new Set<string>();
    let begun = false;
    const attempt = () =>
      pool.transaction(async (transaction) => {
        begun = true;
        effects = [];
        woken = new Set();
        const aborted = watchForAbort(transaction);
        const db: Transaction = {
          knex: transaction,
          afterCommit: (effect) => effects.push(effect),
          wake: (what) => woken.add(what),
          registry,
        };
        const value = await work(db, aborted);
        if (await aborted()) {
          throw new Error('a statement of this transaction failed and its error was swallowed; nothing was committed');
        }
        beforeCommit?.(value);
        return value;
      }, opening);
    const isUndone = (error: unknown) => {
      // Before it has begun: the pool gave out a connection that had died while it lay idle.
      if (isLostConnection(error)) return !begun || opening.readOnly === true;
      return isRolledBack(error);
    };
    const result = await traced(kind, () =>
      attempt().catch((error: unknown) => {
        if (isUndone(error)) return attempt();
        throw error;
      }),
    );
    for (const what of woken) effects.push(() => wakes.emit(what));
    for (const effect of effects) {
      try {
        effect();
      } catch (error) {
        log?.error({ err: error }, 'an effect after commit failed');
      }
    }
    return result;
  }

  async function traced<T>(kind: string, work: () => Promise<T>): Promise<T> {
    const attributes = { 'db.system.name': 'postgresql', 'db.namespace': schemaName };
    return tracer.startActiveSpan(`${kind} ${schemaName}`, { kind: SpanKind.CLIENT, attributes }, async (span) => {
      try {
        return await work();
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw transactionError(error);
      } finally {
        span.end();
      }
    });
  }

  function sharedDb(db: Transaction, aborted: () => Promise<boolean>): SharedDb {
    let turned = false;
    return {
      ...db,
      async asTenant(tenantId, work) {
        if (turned) throw new Error('asTenant is already under way in this transaction');
        turned = true;
        try {
          await db.knex.raw(settings(roles.tenant, tenantId));
          return await work({ ...db, tenantId });
        } finally {
          // In a failed transaction nothing can be set any more, and nothing more will be read either.
          if (!(await aborted())) await db.knex.raw(`SET LOCAL ROLE ${roles.shared}; SET LOCAL parley.tenant TO ''`);
          turned = false;
        }
      },
    };
  }

  return {
    name: schema.name,
    schemaName,
    registry,

    async transact<T>(tenantId: number, work: (db: TenantDb) => Promise<T>, how: TransactOptions = {}) {
      return inTurn(how, () =>
        run({ opening: settings(roles.tenant, tenantId) }, 'transact', (db) => work({ ...db, tenantId })),
      );
    },

    async read<T>(tenantId: number, work: (db: TenantDb) => Promise<T>) {
      const opening = { opening: settings(roles.tenant, tenantId), readOnly: true };
      const answer = Promise.withResolvers<T>();
      run(opening, 'read', (db) => work({ ...db, tenantId }), answer.resolve).catch(answer.reject);
      return answer.promise;
    },

    async transactShared<T>(work: (db: SharedDb) => Promise<T>, how: TransactOptions = {}) {
      return inTurn(how, () =>
        run({ opening: settings(roles.shared, undefined) }, 'transactShared', (db, aborted) =>
          work(sharedDb(db, aborted)),
        ),
      );
    },

    onWake(what, listener) {
      wakes.on(what, listener);
      return () => wakes.off(what, listener);
    },

    migrate: () => migrateSchema({ url: options.migrationsUrl ?? url, appUrl: url, schema, schemaName, log }),

    async ping() {
      if (closed) throw unavailable('The database is closed');
      const timer = new AbortController();
      const late = delay(pingTimeoutMs, undefined, { signal: timer.signal }).then(() => {
        throw unavailable(`The database has not answered within ${pingTimeoutMs} ms`);
      });
      try {
        await Promise.race([pool.raw('SELECT 1'), late]);
      } catch (error) {
        throw transactionError(error);
      } finally {
        late.catch(() => undefined);
        timer.abort();
      }
    },

    async close() {
      if (closed) return;
      closed = true;
      await pool.destroy();
    },
  };
}

/**
 * Answers whether a statement has failed with no savepoint around it, so that nothing more can be done and COMMIT would
 * quietly roll back. The server is asked only after an error, since the driver hears of it late.
 */
function watchForAbort(transaction: Knex.Transaction): () => Promise<boolean> {
  let suspicious = false;
  transaction.on('query-error', () => {
    suspicious = true;
  });
  return async () =>
    suspicious &&
    transaction.raw('SELECT 1').then(
      () => false,
      () => true,
    );
}
