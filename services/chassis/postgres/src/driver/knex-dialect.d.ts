/** The parts of knex that its published types lack; knex's own dialects extend the same two classes. */

declare module 'knex/lib/dialects/postgres/index.js' {
  import type { Knex } from 'knex';
  import { knex } from 'knex';

  /** One statement, with the `options` of `pg`. */
  export interface SentQuery {
    sql: string;
    bindings?: readonly unknown[];
    options?: { name?: string | undefined };
    /** The result of `pg`, set by `_query`. */
    response?: unknown;
  }

  export default class PgClient extends knex.Client {
    _query(connection: object, query: SentQuery): Promise<unknown>;
    /** Replaces question marks by `$1`, `$2`, …. */
    positionBindings(sql: string): string;
    prepBindings(bindings: readonly unknown[] | undefined): readonly unknown[] | undefined;
    transaction(container: unknown, config?: Knex.TransactionConfig, outer?: unknown): Knex.Transaction;
  }
}

declare module 'knex/lib/dialects/postgres/execution/pg-transaction.js' {
  import type { Knex } from 'knex';

  interface PgTransaction extends Knex.Transaction {
    readonly readOnly: boolean | undefined;
    /** Sends statements on the transaction's connection; rejects once it is completed. */
    readonly trxClient: { query(connection: unknown, sql: string): Promise<unknown> };
    _completed: boolean;
    begin(connection: object): Promise<unknown>;
  }

  const PgTransaction: new (
    client: Knex.Client,
    container: unknown,
    config?: Knex.TransactionConfig,
    outer?: unknown,
  ) => PgTransaction;
  export default PgTransaction;
}
