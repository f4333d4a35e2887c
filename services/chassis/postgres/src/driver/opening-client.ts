import type { Writable } from 'node:stream';
import { isDatabaseError } from '@parley/kernel/database-errors';
import type { Knex } from 'knex';
import PgTransaction from 'knex/lib/dialects/postgres/execution/pg-transaction.js';
import PgClient, { type SentQuery } from 'knex/lib/dialects/postgres/index.js';
import type Query from 'pg/lib/query.js';
import { OpenedQuery } from './opened-query.ts';
import type { PreparedStatements } from './prepared-statements.ts';

export type { SentQuery } from 'knex/lib/dialects/postgres/index.js';

/** The beginning of a transaction. */
export interface Opening extends Knex.TransactionConfig {
  /** A statement that is sent in one packet with BEGIN and the first statement of the work. */
  opening: { text: string; values: readonly string[] };
  /** Called when the server has executed the opening. */
  opened?: () => void;
  /** Whether the transaction's statements are sent without being prepared. Default false. */
  unprepared?: boolean;
}

/** Connections whose transaction is `unprepared`. */
const unprepared = new WeakSet<object>();

/** Connections whose transaction has not sent anything so far. */
const beginnings = new WeakMap<object, Opening>();

/** Connections that currently execute an opening without a statement. */
const openings = new WeakMap<object, Promise<unknown>>();

/** For each connection, the error that prevented the settings of its transaction. No statement may run without the settings. */
const failures = new WeakMap<object, unknown>();

/** The generation of the statements that were prepared on a connection. */
const generations = new WeakMap<object, number>();
const unknownGeneration = -1;

/** Streams that buffer their writes until the next tick of the event loop. */
const corked = new WeakSet<Writable>();

/** A connection of `pg`. */
export interface RawClient {
  connection: { stream: Writable };
  query(statement: Query, callback: (error: Error | null, response: unknown) => void): void;
}

/**
 * knex's PostgreSQL client with transactions that begin with the statement of `opening`, which is sent together with the first statement.
 * If either of them fails, the first statement rejects; all later statements then fail too, and nothing is committed. For a transaction
 * without statements nothing is sent.
 */
export class OpeningClient extends PgClient {
  // A transaction runs on an object that shares only the prototype and the configuration with this one, so this class cannot have private
  // fields or methods (`#`).
  declare readonly config: Knex.Config & { preparedStatements?: PreparedStatements };

  override async _query(connection: object, query: SentQuery): Promise<unknown> {
    // Further statements, such as the ROLLBACK of failed work, must wait until the opening has been executed.
    const running = openings.get(connection);
    if (running) await running.catch(() => undefined);
    const beginning = beginnings.get(connection);
    beginnings.delete(connection);
    cork(connection as RawClient);
    const isEnd = /^(COMMIT|ROLLBACK);?$/u.test(query.sql);
    if (failures.has(connection)) {
      const failure = failures.get(connection);
      if (!isEnd) throw failure;
      failures.delete(connection);
      await super._query(connection, { sql: 'ROLLBACK' });
      if (query.sql === 'ROLLBACK') return query;
      throw failure;
    }
    if (beginning === undefined)
      return isCommit(query) ? this.commit(connection, query) : this.sendOne(connection, query);
    if (isEnd) return query;
    if (query.bindings?.length) return this.openWith(connection, query, beginning);
    // A text without parameters may contain several statements, which need a separate message.
    const opening = this.openWith(connection, { sql: '' }, beginning, query);
    openings.set(connection, opening);
    try {
      await opening;
    } finally {
      openings.delete(connection);
    }
    return this.sendOne(connection, query);
  }

  /**
   * Sends BEGIN, the opening and a statement in one packet. BEGIN is sent without being prepared, so it cannot be missing on the server: if
   * the opening fails, the server refuses all statements that the driver has queued behind it.
   * @param asked the query of knex. If the server refuses the opening, the options of this query get the name of the prepared statement
   * that may be missing
   */
  private async openWith(
    connection: object,
    query: SentQuery,
    { opening, opened }: Opening,
    asked = query,
  ): Promise<unknown> {
    const begin = { text: 'BEGIN', values: [], name: undefined };
    const settings = { ...opening, name: this.nameOf(connection, opening.text) };
    const name = query.sql === '' ? undefined : this.nameOf(connection, query.sql);
    query.options = { ...query.options, name };
    let isOpen = false;
    const sent = new OpenedQuery({ text: query.sql, values: query.bindings ?? [], name }, [begin, settings], () => {
      isOpen = true;
      opened?.();
    });
    try {
      query.response = await new Promise((resolve, reject) => {
        (connection as RawClient).query(sent, (error, response) => (error ? reject(error) : resolve(response)));
      });
      return query;
    } catch (error) {
      const isRefused = isDatabaseError(error);
      // It is now unknown which of the statements are prepared.
      if (!isRefused || !isOpen) this.forgetPrepared(connection);
      if (isRefused && !isOpen) {
        failures.set(connection, error);
        asked.options = { ...asked.options, name: settings.name ?? name };
      }
      throw error;
    }
  }

  private async sendOne(connection: object, query: SentQuery): Promise<unknown> {
    const name = query.bindings?.length ? this.nameOf(connection, query.sql) : undefined;
    if (name === undefined) return super._query(connection, query);
    query.options = { ...query.options, name };
    try {
      return await super._query(connection, query);
    } catch (error) {
      // If a value could not be sent, the driver has closed the statement but still treats it as prepared.
      if (!isDatabaseError(error)) this.forgetPrepared(connection);
      throw error;
    }
  }

  /**
   * Commits the transaction.
   * @throws Error if a statement failed whose result was not awaited; the server then responds to COMMIT with ROLLBACK
   */
  private async commit(connection: object, query: SentQuery): Promise<unknown> {
    await super._query(connection, query);
    if ((query.response as { command?: string } | undefined)?.command === 'ROLLBACK') {
      throw swallowedError();
    }
    return query;
  }

  /** Returns the name under which a statement is prepared on a connection. */
  nameOf(connection: object, sql: string): string | undefined {
    const { preparedStatements } = this.config;
    const name = unprepared.has(connection) ? undefined : preparedStatements?.nameOf(sql);
    if (name !== undefined && preparedStatements && !generations.has(connection)) {
      generations.set(connection, preparedStatements.generation);
    }
    return name;
  }

  /** Makes the pool close a connection whose prepared statements are unknown. */
  forgetPrepared(connection: object): void {
    generations.set(connection, unknownGeneration);
  }

  /** Resets the state for the next transaction of a connection. */
  prepareOn(connection: object, isPrepared: boolean): void {
    if (isPrepared) unprepared.delete(connection);
    else unprepared.add(connection);
  }

  /** Reports whether the pool may use the connection again; otherwise the pool closes it. */
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

/** Sends all statements of this tick of the event loop in one packet. */
function cork({ connection: { stream } }: RawClient): void {
  if (corked.has(stream)) return;
  corked.add(stream);
  stream.cork();
  process.nextTick(() => {
    corked.delete(stream);
    stream.uncork();
  });
}

export function swallowedError(): Error {
  return new Error('a statement of this transaction failed and its error was swallowed; nothing was committed');
}

const isCommit = ({ sql }: SentQuery) => /^COMMIT;?$/u.test(sql);

class OpeningTransaction extends PgTransaction {
  readonly #opening: Opening | undefined;

  constructor(client: OpeningClient, container: unknown, config?: Knex.TransactionConfig | Opening, outer?: unknown) {
    super(client, container, config, outer);
    this.#opening = config && 'opening' in config ? config : undefined;
  }

  override async begin(connection: object): Promise<unknown> {
    (this.client as OpeningClient).prepareOn(connection, !this.#opening?.unprepared);
    if (this.#opening === undefined) return super.begin(connection);
    failures.delete(connection);
    beginnings.set(connection, this.#opening);
    return undefined;
  }
}
