import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { SpanKind, trace } from '@opentelemetry/api';
import {
  isDatabaseError,
  isLostConnection,
  isQueryTimeout,
  isRolledBack,
  transactionError,
} from '@parley/kernel/database-errors';
import { isDomainError, unavailable } from '@parley/kernel/errors';
import { fairQueue, type Release } from '@parley/kernel/queues/fair-queue';
import type { Logger } from '@parley/kernel/telemetry/log';
import { inSpan } from '@parley/kernel/telemetry/telemetry';
import { within } from '@parley/kernel/timing/timers';
import type { Knex } from 'knex';
import { type Opening, type SentQuery, swallowedError } from '../driver/opening-client.ts';
import { openPool } from '../driver/pool.ts';
import { preparedStatements } from '../driver/prepared-statements.ts';
import { groupTransaction } from '../driver/statement-group.ts';
import { type ConnectionQueue, connectionQueue, type Leave } from './connection-queue.ts';
import { checkedSchemaName, checkedTenantOrNone, rolesOf } from './identifiers.ts';
import { migrateSchema } from './migrate.ts';
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
  /** `postgres://user:password@host:port/database`; the user must be a member of the schema's roles. */
  url: string;
  schema: SchemaDeclaration;
  /** The actual name of the schema. Default: the declared name. Each test uses a different name. */
  schemaName?: string | undefined;
  /** Maximum number of connections of this pool. Five to eight in all pools together suit a database with two cores. */
  poolSize: number;
  /** The URL with the login that owns the schema and runs migrations. Default: `url`. */
  migrationsUrl?: string | undefined;
  /** How long one statement may run, in ms. Default 20 s. */
  statementTimeoutMs?: number | undefined;
  /** How long a statement may wait for a row that another transaction holds, in ms. Default 5 s. */
  lockTimeoutMs?: number | undefined;
  /** How long a transaction waits for a connection while no connection becomes free, in ms. Default 5 s. */
  acquireTimeoutMs?: number | undefined;
  /**
   * A queue that several pools of one database share. It is for a database that runs few transactions at once, e.g. the embedded database.
   * Default: none.
   */
  sharedQueue?: ConnectionQueue | undefined;
  /** An offset of `parley_now()` in every transaction, in ms. For tests. */
  clockOffsetMs?: (() => number) | undefined;
  log?: Logger | undefined;
}

/** The work of a transaction. `aborted` reports whether a failed statement has aborted the transaction. */
type Work<T> = (db: Transaction, aborted: () => Promise<boolean>) => Promise<T>;

/** How a transaction is run. `party`: the tenant of the transaction, or '' if it has no single tenant. */
interface Ways extends Pick<TransactOptions, 'isUrgent' | 'signal'> {
  atOnce?: 'one' | 'all' | undefined;
  party?: string;
}

const pingTimeoutMs = 2_000;

/** Pause in ms before the retry after a deadlock, so that the other transaction locks the row first. */
const yieldMs = 20;

const oneAtATime = { inFlight: 1 };

const tracer = trace.getTracer('parley.database');

/** Reports whether the server refused a statement because an earlier statement of the transaction had failed. */
const isAborted = (error: unknown) => isDatabaseError(error) && error.code === '25P02';

/** Opens a database; connections are made on first use. */
export function openDatabase(options: DatabaseOptions): Database {
  const { url, schema, poolSize, statementTimeoutMs = 20_000, clockOffsetMs, log } = options;
  const schemaName = checkedSchemaName(options.schemaName ?? schema.name);
  const roles = rolesOf(schemaName);
  const { lockTimeoutMs, acquireTimeoutMs = 5_000, sharedQueue } = options;
  const prepared = preparedStatements(schemaName, { log });
  const pool = openPool({
    url,
    poolSize,
    statementTimeoutMs,
    lockTimeoutMs,
    acquireTimeoutMs,
    mapsNames: true,
    preparedStatements: prepared,
    log,
  });
  const ownQueue = connectionQueue({ size: poolSize });
  const queues = sharedQueue ? [ownQueue, sharedQueue] : [ownQueue];
  const registry: Registry = { runners: new Map(), topics: new Map() };
  const wakes = new EventEmitter();
  wakes.setMaxListeners(0);
  const lockQueues = fairQueue({ shares: { user: oneAtATime, tenant: oneAtATime, row: oneAtATime } });
  let closed = false;
  let answeredAt = Number.NEGATIVE_INFINITY;

  /** Returns the settings of a transaction: a statement with numbered parameters, and their values. */
  function settings(role: string, tenantId: number | undefined, readOnly = false): Opening['opening'] {
    const offsetMs = clockOffsetMs?.() ?? 0;
    const values = {
      role,
      search_path: `${schemaName}, public`, // the schema `public` has the types of extensions
      ...(tenantId !== undefined && { 'parley.tenant': `${checkedTenantOrNone(tenantId)}` }),
      ...(offsetMs !== 0 && { 'parley.clock_offset': `${Number(offsetMs)} milliseconds` }),
      ...(readOnly && { transaction_read_only: 'on' }),
    };
    const set = Object.keys(values).map((name, index) => `set_config('${name}', $${index + 1}, true)`);
    return { text: `SELECT ${set.join(', ')}`, values: Object.values(values) };
  }

  /** Waits until no other transaction of this process runs that names one of the same parties in `lockQueue`, and then runs `work`. */
  async function inLockQueue<T>({ lockQueue, signal }: TransactOptions, work: () => Promise<T>): Promise<T> {
    if (!lockQueue) return work();
    let end: Release;
    try {
      const entered = lockQueues.enter(lockQueue, () => signal);
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
   * Runs `work`, which takes one connection, after waiting in two queues. The pool's queue serves tenants round robin; the queue that
   * several pools share serves schemas round robin.
   */
  async function onConnection<T>({ party = '', isUrgent, signal }: Ways, work: () => Promise<T>): Promise<T> {
    const leaveFunctions: Leave[] = [];
    let isAnswered = false;
    try {
      for (const queue of queues) {
        const of = queue === ownQueue ? party : schemaName;
        const entered = queue.enter({ party: of, isUrgent, signal, maxStallMs: acquireTimeoutMs });
        leaveFunctions.push(typeof entered === 'function' ? entered : await entered);
      }
      if (closed) throw unavailable('The database is closed');
      const result = await work();
      isAnswered = true;
      return result;
    } catch (error) {
      isAnswered = isDatabaseError(error) || !isDomainError(transactionError(error), 'unavailable');
      throw error;
    } finally {
      for (const leave of leaveFunctions.toReversed()) leave(isAnswered);
    }
  }

  /**
   * Runs a transaction. BEGIN, all settings and the first statement are sent in one packet; the settings end with the transaction. With
   * `atOnce` this packet has all statements of the transaction: only the first one of `work`, or all that `work` makes before it waits for
   * input or output. The transaction is retried if its previous run has certainly had no effect: once after an outage, and once, without
   * prepared statements, after a prepared statement was outdated.
   */
  async function run<T>(
    opening: Opening['opening'],
    kind: string,
    work: Work<T>,
    { atOnce, ...entry }: Ways,
  ): Promise<T> {
    if (closed) throw unavailable('The database is closed');
    let effects: (() => void)[] = [];
    let woken = new Set<string>();
    let begun = false;
    let isStale = false;
    let isEnding = false;
    let isTimedOut = false;
    /** The error of the last failed statement, which is the reason if the transaction is aborted. */
    let failure: Error | undefined;
    // The error is recorded when the statement fails, because `work` may catch it and throw another one.
    const failed = (error: Error, name: string | undefined) => {
      if (isAborted(error)) return; // this statement was sent together with the one that failed
      if (prepared.failed(name, error)) isStale = true;
      failure = error;
      if (isQueryTimeout(error)) isTimedOut = true; // a retry would wait for the same time again
    };
    const begin = (transaction: Knex.Transaction): Transaction => {
      effects = [];
      woken = new Set();
      failure = undefined;
      return {
        knex: transaction,
        afterCommit: (effect) => effects.push(effect),
        wake: (what) => woken.add(what),
        registry,
      };
    };
    const write = (unprepared: boolean) => {
      const opened = () => {
        begun = true;
      };
      return pool.transaction(
        async (transaction) => {
          transaction.on('query-error', (error: Error, { options }: SentQuery) => failed(error, options?.name));
          const aborted = watchForAbort(transaction);
          const value = await work(begin(transaction), aborted);
          if (await aborted()) throw swallowedError();
          isEnding = true;
          return value;
        },
        { opening, unprepared, opened } as Opening,
      );
    };
    const attempt = (unprepared: boolean) => {
      begun = false;
      isStale = false;
      isEnding = false;
      if (!atOnce) return write(unprepared);
      return groupTransaction(pool, { opening, unprepared, atOnce, failed }, (knex) =>
        work(begin(knex), async () => false),
      );
    };
    const isUndone = (error: unknown) => {
      // If the transaction has not begun, its connection had already been lost while idle, so COMMIT was not sent.
      if (isLostConnection(error)) return !isTimedOut && (!begun || atOnce !== undefined);
      return isRolledBack(error);
    };
    async function attempts(): Promise<T> {
      for (let unprepared = false, isRepeated = false; ; ) {
        try {
          return await onConnection(entry, () => attempt(unprepared));
        } catch (caught) {
          const error = isAborted(caught) ? (failure ?? caught) : caught;
          if (isStale && !isEnding && !unprepared) unprepared = true;
          else if (isUndone(error) && !isRepeated) isRepeated = true;
          else throw error;
          if (isRolledBack(error)) await delay(yieldMs);
        }
      }
    }
    const result = await traced(kind, attempts);
    answeredAt = performance.now();
    for (const what of woken) effects.push(() => wakes.emit(what));
    for (const effect of effects) {
      try {
        effect();
      } catch (error) {
        log?.error({ err: error }, 'effect after commit failed');
      }
    }
    return result;
  }

  async function traced<T>(kind: string, work: () => Promise<T>): Promise<T> {
    const attributes = { 'db.system.name': 'postgresql', 'db.namespace': schemaName };
    try {
      return await inSpan(tracer, `${kind} ${schemaName}`, { kind: SpanKind.CLIENT, attributes }, work);
    } catch (error) {
      throw transactionError(error);
    }
  }

  function sharedDb(db: Transaction, aborted: () => Promise<boolean>): SharedDb {
    let isTenant = false;
    return {
      ...db,
      async asTenant(tenantId, work) {
        if (isTenant) throw new Error('asTenant is already under way in this transaction');
        isTenant = true;
        try {
          const { text, values } = settings(roles.tenant, tenantId);
          await db.knex.raw(text.replaceAll(/\$\d+/gu, '?'), values);
          return await work({ ...db, tenantId });
        } finally {
          // An aborted transaction accepts no more statements.
          if (!(await aborted())) await db.knex.raw(`SET LOCAL ROLE ${roles.shared}; SET LOCAL parley.tenant TO ''`);
          isTenant = false;
        }
      },
    };
  }

  return {
    name: schema.name,
    schemaName,
    registry,

    async transact<T>(tenantId: number, work: (db: TenantDb) => Promise<T>, options: TransactOptions = {}) {
      return inLockQueue(options, () =>
        run(settings(roles.tenant, tenantId), 'transact', (db) => work({ ...db, tenantId }), waysOf(options, tenantId)),
      );
    },

    async read<T>(tenantId: number, work: (db: TenantDb) => Promise<T>) {
      const ways: Ways = { atOnce: 'one', party: partyOf(tenantId) };
      return run(settings(roles.tenant, tenantId, true), 'read', (db) => work({ ...db, tenantId }), ways);
    },

    async readShared<T>(work: (db: Transaction) => Promise<T>) {
      return run(settings(roles.shared, undefined, true), 'readShared', work, { atOnce: 'one' });
    },

    async transactShared<T>(work: (db: SharedDb) => Promise<T>, options: TransactOptions = {}) {
      return inLockQueue(options, () =>
        run(
          settings(roles.shared, undefined),
          'transactShared',
          (db, aborted) => work(sharedDb(db, aborted)),
          waysOf(options),
        ),
      );
    },

    onWake(what, listener) {
      wakes.on(what, listener);
      return () => wakes.off(what, listener);
    },

    migrate: () => migrateSchema({ url: options.migrationsUrl ?? url, appUrl: url, schema, schemaName, log }),

    connections: () => ({ used: pool.client.pool.numUsed(), waiting: ownQueue.waiting }),

    async ping() {
      if (closed) throw unavailable('The database is closed');
      const late = () => unavailable(`The database has not answered within ${pingTimeoutMs} ms`);
      const asked = performance.now();
      try {
        await within(pingTimeoutMs, late, pool.raw('SELECT 1'));
      } catch (error) {
        if (answeredAt >= asked) return; // the database has responded to another call: only the pool is busy
        throw transactionError(error);
      }
    },

    async close() {
      if (closed) return;
      closed = true;
      await pool.destroy();
    },
  };
}

function waysOf({ commitsAtOnce, isUrgent, signal }: TransactOptions, tenantId?: number): Ways {
  return { atOnce: commitsAtOnce ? 'all' : undefined, isUrgent, signal, party: partyOf(tenantId) };
}

/** Returns the party of a transaction; all transactions without a tenant share one party. */
function partyOf(tenantId: number | undefined): string {
  return tenantId === undefined ? '' : String(tenantId);
}

/**
 * Returns a function that reports whether a statement has failed outside a savepoint, so that COMMIT would silently roll back. The function
 * asks the server, but only after an error, because the driver learns late that the transaction is aborted.
 */
function watchForAbort(transaction: Knex.Transaction): () => Promise<boolean> {
  let hasFailed = false;
  transaction.on('query-error', () => {
    hasFailed = true;
  });
  return async () =>
    hasFailed &&
    transaction.raw('SELECT 1').then(
      () => false,
      () => true,
    );
}
