import type { ListBounds } from '@parley/kernel/answer-budget';
import type { Parties } from '@parley/kernel/fair-queue';
import type { Knex } from 'knex';
import type { JobClaimer } from '../jobs/job-claimer.ts';

/**
 * The three kinds of table. *tenant*: has `tenant_id`, row-level security forced, reached by `transact`.
 * *people*: users, sign-ins, key hashes; identity only, reached by `transactShared`. *plumbing*: outbox, inbox, jobs;
 * written from both, so that an effect and its event, mark or job commit together.
 */
export type TableKind = 'tenant' | 'people' | 'plumbing';

/**
 * One step of a schema's history. Never edited once merged; expands before a later one contracts: what the version before
 * still reads or writes stays until no replica of it runs any more.
 * It runs as the schema's owner, whom the forced row-level security binds too: a step that rewrites the rows of a
 * tenant table says `ALTER TABLE … NO FORCE ROW LEVEL SECURITY` first, and `migrate` forces it again before it commits.
 */
export interface Migration {
  /** Unique in its schema, e.g. `001-agents`. The order of application is that of the list. */
  name: string;
  /**
   * Given by a step that takes something away or tightens what may be written: which earlier release stopped needing it,
   * in words. A check refuses such a step without it, and another step with it.
   */
  contracts?: string;
  up(knex: Knex.Transaction): Promise<void>;
}

/** What one service keeps in the database: its schema's name, its tables by kind, and how they came to be. */
export interface SchemaDeclaration {
  /** The schema, and the stem of its roles: `<name>_tenant` and `<name>_shared`. */
  name: string;
  /** Every table of the schema but the plumbing, which the chassis adds. A table missing here fails `migrate`. */
  tables: Record<string, TableKind>;
  migrations: Migration[];
}

/** What the service that owns a database has registered: what is not in here is refused where it is appended. */
export interface Registry {
  /** Who runs the jobs of each kind in this process. A runner registers itself when it is made. */
  readonly runners: Map<string, JobClaimer>;
  /** The types of events that the service publishes, by topic. */
  readonly topics: Map<string, readonly string[]>;
}

/** One open transaction. SQL takes time from `parley_now()` only. */
export interface Transaction {
  knex: Knex.Transaction;
  /** Runs once the transaction has committed, never when it rolled back. Must be quick; what it throws is logged. */
  afterCommit(effect: () => void): void;
  /** After commit, wakes whoever waits for `what` on the same `Database` in this process; once, however often it is said. */
  wake(what: string): void;
  /** That of the `Database`. */
  readonly registry: Registry;
}

/** A transaction that sees one tenant's rows and the plumbing. */
export interface TenantDb extends Transaction {
  tenantId: number;
  /** What a list may take and shows. Without it, i.e. outside of `answer-database.ts`, `listWithin` and `columnsWithin` fail. */
  answer?: ListBounds;
}

/** A transaction that sees people and plumbing, and no tenant's rows until it turns to one. */
export interface SharedDb extends Transaction {
  /** Goes on as the tenant role in the same transaction, for what must commit with both (registration). One at a time. */
  asTenant<T>(tenantId: number, work: (db: TenantDb) => Promise<T>): Promise<T>;
}

/** How a transaction comes to its connection. */
export interface TransactOptions {
  /**
   * Whose rows `work` locks: of those that name the same user, tenant or row, one at a time runs in this process. The others wait
   * before they take a connection. Else many requests of one party, each with a connection while it waits for the one lock, would
   * leave none for anybody else. Named all at once, so that none waits for one while it holds another.
   */
  turn?: Parties<'user' | 'tenant' | 'row'> | undefined;
  /** Aborted when nobody waits for the result any more: one that still waits for its turn then rejects with `unavailable`. */
  gone?: AbortSignal | undefined;
}

/**
 * One service's view of a PostgreSQL database. A transaction runs once more where surely nothing is left of the first run: the
 * server gave it up (deadlock, serialization failure), the connection was dead before it began, or was lost while it only read. So
 * `work` keeps its effects to the transaction and `afterCommit`, and reads what it writes by itself. Else a transaction that the
 * database could not serve (connection lost, pool exhausted, shutting down, timeout) rejects with `unavailable`, and may have
 * been committed where the answer was lost: only the caller knows whether it may be tried again.
 */
export interface Database {
  /** The declared name of the schema's owner, e.g. `session`: also the source of its events. */
  readonly name: string;
  /** The schema as it stands in this database. */
  readonly schemaName: string;
  readonly registry: Registry;
  /** Runs `work` in one transaction under the tenant role; commits when it resolves, rolls back when it rejects. */
  transact<T>(tenantId: number, work: (db: TenantDb) => Promise<T>, options?: TransactOptions): Promise<T>;
  /**
   * Runs `work`, which only reads, in a read-only transaction under the tenant role, and answers without waiting for its
   * COMMIT, which has nothing to add: one round trip less. For paths where that counts.
   */
  read<T>(tenantId: number, work: (db: TenantDb) => Promise<T>): Promise<T>;
  /** The same as `transact` under the shared role, for what belongs to no single tenant. */
  transactShared<T>(work: (db: SharedDb) => Promise<T>, options?: TransactOptions): Promise<T>;
  /** Calls `listener` after each commit of this process that woke `what`; returns how to stop that. */
  onWake(what: string, listener: () => void): () => void;
  /**
   * Brings the schema, its roles, grants and row-level security up to date; safe to run from many processes at once.
   * Answers the names of the migrations that this call applied.
   */
  migrate(): Promise<string[]>;
  /** Resolves when the database answers, rejects with `unavailable` when it does not within 2 s. */
  ping(): Promise<void>;
  /** Closes the pool once running transactions are done; what begins afterwards is `unavailable`. */
  close(): Promise<void>;
}
