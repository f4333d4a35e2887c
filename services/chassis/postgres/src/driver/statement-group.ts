import { promisify } from 'node:util';
import { isDatabaseError } from '@parley/kernel/database-errors';
import type { Knex } from 'knex';
import type { SentQuery } from 'knex/lib/dialects/postgres/index.js';
import Query, { type PgConnection, type QueryConfig } from 'pg/lib/query.js';
import { prepareValue } from 'pg/lib/utils.js';
import { type Opening, type OpeningClient, type RawClient, swallowedError } from './opening-client.ts';

/** Statements of `pg` that are sent in one packet and end with one Sync: the server commits all of them, or none if one fails. */
class GroupQuery extends Query {
  readonly #statements: readonly QueryConfig[];
  /** Number of statements that the server has executed. */
  executed = 0;
  /** Whether any of the statements is being prepared for the first time. */
  prepares = false;

  constructor(statements: readonly QueryConfig[]) {
    super({ text: '', values: [] });
    this.#statements = statements;
  }

  override requiresPreparation(): boolean {
    return true;
  }

  override prepare(connection: PgConnection): void {
    for (const { name, text, values } of this.#statements) {
      if (name === undefined || connection.parsedStatements[name] === undefined) {
        connection.parse({ name, text });
        this.prepares ||= name !== undefined;
      }
      if (name !== undefined) connection.parsedStatements[name] = text;
      connection.bind({ statement: name, values });
      connection.describe({ type: 'P' });
      connection.execute({});
    }
    connection.sync();
  }

  override handleCommandComplete(message: unknown, connection: PgConnection): void {
    this.executed += 1;
    super.handleCommandComplete(message, connection);
  }
}

/** @param name the name of the failed statement, if it was prepared */
type Failed = (error: Error, name: string | undefined) => void;

interface Made {
  query: SentQuery;
  config: QueryConfig;
  resolve(query: SentQuery): void;
  reject(error: unknown): void;
}

/**
 * A transaction whose statements are all made before any result arrives. It is one message group of the protocol, which the server executes
 * as a transaction without BEGIN and COMMIT. knex's own transactions take three times as much CPU time, in this process and on the server.
 * @param opening is executed before the statements
 * @param maxStatements maximum number of statements
 */
export function statementGroup(
  pool: Knex,
  connection: RawClient,
  opening: { text: string; values: readonly string[] },
  maxStatements = Number.POSITIVE_INFINITY,
) {
  const { client }: { client: OpeningClient } = pool;
  const made: Made[] = [];
  const first = Promise.withResolvers<void>();
  let isSent = false;

  const configOf = (text: string, values: readonly unknown[]): QueryConfig => ({
    text,
    values: values.map(prepareValue),
    name: client.nameOf(connection, text),
  });

  async function query(_connection: unknown, given: SentQuery): Promise<SentQuery> {
    if (isSent || made.length >= maxStatements) throw new Error('The transaction is already complete');
    const { promise, resolve, reject } = Promise.withResolvers<SentQuery>();
    const config = configOf(client.positionBindings(given.sql), client.prepBindings(given.bindings) ?? []);
    made.push({ query: given, config, resolve, reject });
    first.resolve();
    return promise;
  }

  const acquireConnection = async () => connection;
  const releaseConnection = async () => undefined;
  const transaction = () => {
    throw new Error('A transaction of one message group has no transactions of its own');
  };
  const groupClient = Object.assign(Object.create(client), {
    query,
    acquireConnection,
    releaseConnection,
    transaction,
  });
  // This object has the functions of the pool's knex, and runs them on the group's client.
  const knex = Object.setPrototypeOf((table: string) => knex.queryBuilder().table(table), pool);
  knex.context = Object.create(knex.context, { client: { value: groupClient } });

  return {
    knex: knex as Knex.Transaction,
    /** Resolves when the first statement has been made. */
    begun: first.promise,
    /**
     * Sends the statements. Resolves when they are committed, before their results are delivered.
     * @param failed gets the error of the statement that failed
     */
    async send(failed: Failed): Promise<void> {
      isSent = true;
      if (made.length === 0) return;
      const configs = [configOf(opening.text, opening.values), ...made.map(({ config }) => config)];
      const sent = new GroupQuery(configs);
      try {
        const [, ...results] = await new Promise<unknown[]>((resolve, reject) => {
          connection.query(sent, (error, answers) => (error ? reject(error) : resolve(answers as unknown[])));
        });
        for (const [place, { query: answered, resolve }] of made.entries()) {
          answered.response = results[place];
          resolve(answered);
        }
      } catch (error) {
        // It is now unknown which of the statements the server has prepared.
        if (sent.prepares || !isDatabaseError(error)) client.forgetPrepared(connection);
        const failing = isDatabaseError(error) ? configs[sent.executed] : undefined; // undefined if only the commit failed
        // Without a response it is unknown which statement failed, because the server sends all results at the end.
        const suspects = isDatabaseError(error) ? [failing] : configs.slice(1);
        const texts = suspects.flatMap((config) => config?.text ?? []);
        Object.assign(error as Error, {
          message: [texts.join('; '), (error as Error).message].filter(Boolean).join(' - '),
        });
        failed(error as Error, failing?.name);
        for (const { reject } of made) reject(error);
        throw error;
      }
    },
  };
}

/** Resolves when all work has run that does not wait for input or output. */
const untilNextTick = promisify(process.nextTick);

export interface GroupOptions extends Pick<Opening, 'opening' | 'unprepared'> {
  /**
   * Which statements of `work` are sent at once, together with the opening of the transaction. `one`: only the first; `all`: the statements
   * that `work` makes before it waits for input or output.
   */
  atOnce: 'one' | 'all';
  failed: Failed;
}

/** Sends the statements of `work` on a connection of the pool as a group. */
export async function groupTransaction<T>(
  pool: Knex,
  { opening, unprepared = false, atOnce, failed }: GroupOptions,
  work: (knex: Knex.Transaction) => Promise<T>,
): Promise<T> {
  let working: Promise<T> | undefined;
  const send = async () => {
    const connection: RawClient = await pool.client.acquireConnection();
    try {
      pool.client.prepareOn(connection, !unprepared);
      const group = statementGroup(pool, connection, opening, atOnce === 'one' ? 1 : undefined);
      working = Promise.resolve(work(group.knex)); // the promise runs the work only once, even if the work returns a query of knex
      await Promise.race([atOnce === 'one' ? group.begun : untilNextTick(), working]);
      await group.send(failed);
    } finally {
      await pool.client.releaseConnection(connection);
    }
  };
  try {
    await send();
  } catch (error) {
    if (!working) throw error; // no connection was available
    await working; // the error of `work` is more specific
    throw isDatabaseError(error) ? swallowedError() : error;
  }
  return working as Promise<T>;
}
