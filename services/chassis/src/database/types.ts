import type { Knex } from 'knex';

/**
 * The three kinds of table. *tenant*: has `tenant_id`, row-level security forced, reached by `transact`.
 * *people*: users, sign-ins, key hashes; identity only, reached by `transactShared`. *plumbing*: outbox, inbox, jobs;
 * written from both, so that an effect and its event, mark or job commit together.
 */
export type TableKind = 'tenant' | 'people' | 'plumbing';

/** One step of a schema's history. Never edited once merged; expands before a later one contracts. */
export interface Migration {
  /** Sorts in the order of application, e.g. `001-agents`. */
  name: string;
  up(knex: Knex.Transaction): Promise<void>;
}

/** What one service keeps in the database: its schema's name, its tables by kind, and how they came to be. */
export interface SchemaDeclaration {
  /** The schema, and the stem of its roles: `<name>_tenant` and `<name>_shared`. */
  name: string;
  /** Every table of the schema but the plumbing, which the chassis adds. A table missing here fails the catalogue test. */
  tables: Record<string, TableKind>;
  migrations: Migration[];
}

/** One open transaction. SQL takes time from `parley_now()` only. */
export interface Transaction {
  knex: Knex.Transaction;
  /** Runs once the transaction has committed, never when it rolled back. For waking workers; must not throw. */
  afterCommit(effect: () => void): void;
}

/** A transaction that sees one tenant's rows and the plumbing. */
export interface TenantDb extends Transaction {
  tenantId: number;
}

/** A transaction that sees people and plumbing, and no tenant's rows until it turns to one. */
export interface SharedDb extends Transaction {
  /** Goes on as the tenant role in the same transaction, for what must commit with both (registration). */
  asTenant<T>(tenantId: number, work: (db: TenantDb) => Promise<T>): Promise<T>;
}

/** One service's view of a PostgreSQL database. */
export interface Database {
  /** Runs `work` in one transaction under the tenant role; commits when it resolves, rolls back when it rejects. */
  transact<T>(tenantId: number, work: (db: TenantDb) => Promise<T>): Promise<T>;
  /** The same under the shared role, for what belongs to no single tenant. */
  transactShared<T>(work: (db: SharedDb) => Promise<T>): Promise<T>;
  /** Brings the schema, its roles, grants and row-level security up to date; safe to run from many processes at once. */
  migrate(): Promise<void>;
  /** Resolves when the database answers, rejects with `unavailable` when it does not within 2 s. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
