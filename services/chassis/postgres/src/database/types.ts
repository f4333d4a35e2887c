import type { ListBounds } from '@parley/kernel/answer-budget';
import type { Parties } from '@parley/kernel/queues/fair-queue';
import type { Knex } from 'knex';
import type { ClaimedJob } from '../jobs/job-rows.ts';

/**
 * The three kinds of table. A *tenant* table has `tenant_id` and forced row-level security; `transact` has access to it. A *people* table
 * has users, sign-ins or key hashes, only in the identity service; `transactShared` has access to it. An *internal* table is the outbox,
 * inbox or jobs; `transact` and `transactShared` have access to it, so that an effect commits together with its event, inbox mark or job.
 */
export type TableKind = 'tenant' | 'people' | 'internal';

/**
 * A migration is never edited once merged. It expands the schema before a later migration contracts it: a migration must keep everything
 * that the previous version reads or writes until no replica of that version runs any more. It runs as the schema's owner, who is also
 * subject to forced row-level security: a migration that rewrites rows of a tenant table begins with `ALTER TABLE … NO FORCE ROW LEVEL
 * SECURITY`, and `migrate` forces it again before it commits.
 */
export interface Migration {
  /** Unique in its schema, e.g. `001-agents`. Migrations are applied in the order of the list. */
  name: string;
  /**
   * Names, in words, the earlier release that stopped needing what this migration removes or restricts. A check requires this text for a
   * migration that removes something or restricts what may be written, and refuses it for any other migration.
   */
  contracts?: string;
  up(knex: Knex.Transaction): Promise<void>;
}

/** The database schema of one service. */
export interface SchemaDeclaration {
  /** The name of the schema, and the prefix of its roles `<name>_tenant` and `<name>_shared`. */
  name: string;
  /**
   * Every table of the schema except the internal ones, which are added automatically. A table that is missing here makes `migrate` fail.
   */
  tables: Record<string, TableKind>;
  migrations: Migration[];
  /** Required extensions by name, each with the oldest sufficient version, e.g. `{ vector: '0.8.5' }`. */
  extensions?: Record<string, string>;
}

/** The jobs and events registered by the owning service. Appending a job of another kind or an event of another topic throws. */
export interface Registry {
  /** The job runners of this process, by kind of job. A runner registers itself when it is created. */
  readonly runners: Map<string, JobClaimer>;
  /** The types of events that the service publishes, by topic. */
  readonly topics: Map<string, readonly string[]>;
}

export interface ReservedSlot {
  /** Uses the reserved slot for a job that begins now. */
  use(): void;
  /** Releases the reserved slot. */
  free(): void;
}

/** The runner of one kind of job. When `jobs(db)` appends a job, it claims the job through this runner. */
export interface JobClaimer {
  readonly kind: string;
  /** The id under which this runner of this process claims jobs. */
  readonly owner: string;
  readonly leaseMs: number;
  readonly perTenantLimit: number | undefined;
  /** Reserves a slot for one job; a rollback of the transaction releases the slot. Returns undefined when no slot is free. */
  reserve(knex: Knex.Transaction): ReservedSlot | undefined;
  /** Reads, in the claiming transaction, the data that the handler needs at its start. */
  prepare(db: Transaction, job: ClaimedJob): Promise<unknown>;
  /** Starts a job whose claim has been committed. `claimedAtMs` is a monotonic time from before the statement that claimed the job. */
  begin(job: ClaimedJob, claim: { claimedAtMs: number; prepared: unknown }): void;
  /** Called when a cancellation of the job with this token has been committed. */
  cancelled(token: string): void;
}

/** One open transaction. Its SQL must read the time from `parley_now()` only. */
export interface Transaction {
  knex: Knex.Transaction;
  /**
   * Runs `effect` after the transaction has committed, never after a rollback. `effect` must be quick; errors that it throws are logged.
   */
  afterCommit(effect: () => void): void;
  /** After the commit, calls the `onWake` listeners of `what` on the same `Database`, once per transaction. */
  wake(what: string): void;
  /** The registry of the `Database`. */
  readonly registry: Registry;
  /**
   * The budget and the selected fields of lists, set by `answer-database.ts`. If this is undefined, `listWithin` and `columnsWithin` throw.
   */
  answer?: ListBounds;
}

/** A transaction that sees one tenant's rows and the internal tables. */
export interface TenantDb extends Transaction {
  tenantId: number;
}

/** A transaction that sees people and internal tables, and a tenant's rows only in `asTenant`. */
export interface SharedDb extends Transaction {
  /**
   * Runs `work` under the tenant role in the same transaction, for rows of a tenant and of people that must commit together, e.g. at
   * registration. Only one call may run at a time.
   */
  asTenant<T>(tenantId: number, work: (db: TenantDb) => Promise<T>): Promise<T>;
}

/** Options that decide when a transaction may take a connection. */
export interface TransactOptions {
  /**
   * The parties whose rows `work` locks: a user, a tenant or a single row. In this process, transactions that name the same party run one
   * at a time. The others wait before they take a connection; otherwise the requests of one party could hold all connections while they
   * wait for one lock. Name all parties at once, so that no transaction waits for one party while it holds another.
   */
  lockQueue?: Parties<'user' | 'tenant' | 'row'> | undefined;
  /** Aborts when the caller disconnects. A transaction that still waits for a lock or a connection then rejects with `unavailable`. */
  signal?: AbortSignal | undefined;
  /**
   * Sends the statements of `work` as one group, which commits without waiting for their results. This saves one round trip and half of the
   * CPU time, and shortens the time for which locks are held. Default false.
   * - `work` must make all statements at once; a later statement rejects.
   * - Results arrive after the commit. If one statement fails, all reject with its error.
   * - Only an error in the database rolls the transaction back; `work` cannot do this by rejecting.
   * - The group is retried if the connection was lost during a possible commit, so a second run must change nothing.
   */
  commitsAtOnce?: boolean | undefined;
  /**
   * Whether the transaction continues or ends work that has begun, such as the renewal of a lease, the end of a job or a settlement. Urgent
   * transactions are served before others, and one connection is reserved for them: otherwise new work would delay the transactions that
   * free connections. Default false.
   */
  isUrgent?: boolean | undefined;
}

/**
 * One service's view of a PostgreSQL database.
 *
 * A transaction is retried once if its first run has certainly had no effect: the server rolled it back (deadlock, serialization failure),
 * or the connection was lost before the transaction began or during a read-only transaction. It is retried once more, without prepared
 * statements, if a prepared statement was outdated (after a migration, or behind a pooler). So `work` must have no effects outside of the
 * transaction and `afterCommit`, and must itself read the data that it depends on. Any other outage (connection lost, pool exhausted,
 * shutdown, timeout) rejects with `unavailable`. The transaction may have been committed then, so only the caller knows whether a retry is
 * safe.
 */
export interface Database {
  /** The declared name of the schema, e.g. `session`; also the source of its events. */
  readonly name: string;
  /** The actual name of the schema, which differs in tests. */
  readonly schemaName: string;
  readonly registry: Registry;
  /** Runs `work` in one transaction under the tenant role. Commits when `work` resolves, rolls back when `work` rejects. */
  transact<T>(tenantId: number, work: (db: TenantDb) => Promise<T>, options?: TransactOptions): Promise<T>;
  /**
   * Runs the one statement of `work` in a read-only transaction under the tenant role, in a single round trip: for hot paths. A second
   * statement rejects. If the second statement is made together with the first, the first may have been executed.
   */
  read<T>(tenantId: number, work: (db: TenantDb) => Promise<T>): Promise<T>;
  /** Runs one statement as `read` does, but under the shared role. */
  readShared<T>(work: (db: Transaction) => Promise<T>): Promise<T>;
  /** Runs a transaction as `transact` does, but under the shared role, for data that belongs to no single tenant. */
  transactShared<T>(work: (db: SharedDb) => Promise<T>, options?: TransactOptions): Promise<T>;
  /** Calls `listener` after each commit of this process that woke `what`. Returns a function that unsubscribes. */
  onWake(what: string, listener: () => void): () => void;
  /**
   * Brings the schema, its roles, grants and row-level security up to date; safe to run from many processes at once.
   * @returns the names of the migrations that this call applied.
   */
  migrate(): Promise<string[]>;
  /** Returns the number of connections in use, and the number of transactions that wait for a connection. */
  connections(): { used: number; waiting: number };
  /** Resolves when the database has served this call or, if no connection is free, another call. Rejects with `unavailable` after 2 s. */
  ping(): Promise<void>;
  /** Closes the pool after the running transactions have ended; later transactions reject with `unavailable`. */
  close(): Promise<void>;
}
