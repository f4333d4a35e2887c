import Query, { type PgConnection, type QueryConfig } from 'pg/lib/query.js';

/**
 * A statement of `pg` that is sent in one packet with the statements before it. The rows of the earlier statements are ignored. The server
 * executes the statements in order; after an error it executes none of the rest.
 */
export class OpenedQuery extends Query {
  readonly #before: readonly QueryConfig[];
  readonly #ownName: string | undefined;
  readonly #opened: () => void;
  #remaining: number;

  /** @param opened is called when the server has executed the statements before this one. */
  constructor(config: QueryConfig, before: readonly QueryConfig[], opened: () => void) {
    super(config);
    this.#before = before;
    this.#ownName = config.name;
    this.#opened = opened;
    this.#remaining = before.length;
  }

  override requiresPreparation(): boolean {
    return true;
  }

  override prepare(connection: PgConnection): void {
    for (const { name, text, values } of this.#before) {
      if (name === undefined || connection.parsedStatements[name] === undefined) connection.parse({ name, text });
      if (name !== undefined) connection.parsedStatements[name] = text;
      connection.bind({ statement: name, values });
      connection.execute({});
    }
    super.prepare(connection);
    // If the name stayed set, the driver would take the first response to a Parse as the response for this statement.
    this.name = undefined;
  }

  override handleDataRow(message: unknown): void {
    if (this.#remaining === 0) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: PgConnection): void {
    if (this.#remaining === 0) return super.handleCommandComplete(message, connection);
    this.#remaining -= 1;
    if (this.#remaining > 0) return undefined;
    this.name = this.#ownName;
    return this.#opened();
  }
}
