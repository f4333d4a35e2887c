import type { Knex } from 'knex';
import PgTransaction from 'knex/lib/dialects/postgres/execution/pg-transaction.js';
import PgClient, { type SentQuery } from 'knex/lib/dialects/postgres/index.js';
import type { PreparedStatements } from './prepared-statements.ts';

/** How a transaction begins. */
export interface Opening extends Knex.TransactionConfig {
  /** Statements without parameters, sent together with BEGIN in one round trip. */
  opening: string;
}

/**
 * knex's PostgreSQL client with transactions that begin with the statements of `opening`. When one of them fails, the
 * transaction rolls back and rejects with the error, and its work is not called.
 */
export class OpeningClient extends PgClient {
  // Transactions run on objects that share only the configuration with this one.
  declare readonly config: Knex.Config & { preparedStatements?: PreparedStatements };

  override _query(connection: unknown, query: SentQuery): Promise<unknown> {
    // Without parameters a text may be several statements, which cannot be prepared.
    const name = query.bindings?.length ? this.config.preparedStatements?.nameOf(query.sql) : undefined;
    if (name !== undefined) query.options = { ...query.options, name };
    return super._query(connection, query);
  }

  override transaction(
    container: unknown,
    config?: Knex.TransactionConfig | Opening,
    outer?: unknown,
  ): Knex.Transaction {
    return new OpeningTransaction(this, container, config, outer);
  }
}

class OpeningTransaction extends PgTransaction {
  readonly #opening: string | undefined;

  constructor(client: OpeningClient, container: unknown, config?: Knex.TransactionConfig | Opening, outer?: unknown) {
    super(client, container, config, outer);
    this.#opening = config && 'opening' in config ? config.opening : undefined;
  }

  override async begin(connection: unknown): Promise<unknown> {
    if (this.#opening === undefined) return super.begin(connection);
    const begin = this.readOnly ? 'BEGIN READ ONLY' : 'BEGIN';
    try {
      return await this.trxClient.query(connection, `${begin}; ${this.#opening}`);
    } catch (error) {
      // BEGIN may have succeeded, and the connection must return to the pool without a transaction.
      await this.trxClient.query(connection, 'ROLLBACK').catch(() => undefined);
      this._completed = true;
      throw error;
    }
  }
}
