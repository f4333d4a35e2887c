import { isDatabaseError } from '@parley/kernel/database-errors';
import type { Knex } from 'knex';
import PgTransaction from 'knex/lib/dialects/postgres/execution/pg-transaction.js';
import PgClient, { type SentQuery } from 'knex/lib/dialects/postgres/index.js';
import type { PreparedStatements } from './prepared-statements.ts';

/** How a transaction begins. */
export interface Opening extends Knex.TransactionConfig {
  /** Statements without parameters, sent together with BEGIN in one round trip. */
  opening: string;
  /** Whether its statements are sent without being prepared. Default false. */
  unprepared?: boolean;
}

/** Connections whose transaction is `unprepared`. */
const unprepared = new WeakSet<object>();

/** The generation of the statements that were prepared on a connection. */
const generations = new WeakMap<object, number>();
const unknownGeneration = -1;

/**
 * knex's PostgreSQL client with transactions that begin with the statements of `opening`. When one of them fails, the
 * transaction rolls back and rejects with the error, and its work is not called.
 */
export class OpeningClient extends PgClient {
  // Transactions run on objects that share only the configuration with this one.
  declare readonly config: Knex.Config & { preparedStatements?: PreparedStatements };

  override async _query(connection: object, query: SentQuery): Promise<unknown> {
    const { preparedStatements } = this.config;
    // Without parameters a text may be several statements, which cannot be prepared.
    const isPreparable = query.bindings?.length && !unprepared.has(connection);
    const name = isPreparable ? preparedStatements?.nameOf(query.sql) : undefined;
    if (name === undefined || !preparedStatements) return super._query(connection, query);
    query.options = { ...query.options, name };
    if (!generations.has(connection)) generations.set(connection, preparedStatements.generation);
    try {
      return await super._query(connection, query);
    } catch (error) {
      // The driver has closed the statement if a value could not be sent, and still takes it for prepared.
      if (!isDatabaseError(error)) generations.set(connection, unknownGeneration);
      throw error;
    }
  }

  /** Whether the pool may use the connection again; otherwise it closes it. */
  override async validateConnection(connection: object): Promise<boolean> {
    const generation = generations.get(connection);
    return generation === undefined || generation === this.config.preparedStatements?.generation;
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
  readonly #unprepared: boolean;

  constructor(client: OpeningClient, container: unknown, config?: Knex.TransactionConfig | Opening, outer?: unknown) {
    super(client, container, config, outer);
    this.#opening = config && 'opening' in config ? config.opening : undefined;
    this.#unprepared = (config && 'unprepared' in config && config.unprepared) ?? false;
  }

  override async begin(connection: object): Promise<unknown> {
    if (this.#unprepared) unprepared.add(connection);
    else unprepared.delete(connection);
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
