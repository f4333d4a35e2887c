/** The parts of a `pg` statement, which its published types lack. */

declare module 'pg/lib/query.js' {
  /** The protocol messages of a connection. */
  export interface PgConnection {
    /** Texts by name of the statements that the server has. */
    parsedStatements: Record<string, string | undefined>;
    parse(statement: { text: string; name: string | undefined }): void;
    bind(portal: { statement: string | undefined; values: readonly unknown[] }): void;
    describe(portal: { type: 'P' }): void;
    execute(portal: object): void;
    sync(): void;
  }

  export interface QueryConfig {
    text: string;
    values: readonly unknown[];
    name?: string | undefined;
  }

  /** Submitted by `client.query`, which hands it the messages of the server up to ReadyForQuery. */
  class Query {
    constructor(config: QueryConfig);
    name: string | undefined;
    /** Sends all messages but the last, Sync, in one packet. */
    prepare(connection: PgConnection): void;
    requiresPreparation(): boolean;
    handleDataRow(message: unknown): void;
    handleCommandComplete(message: unknown, connection: PgConnection): void;
  }
  export default Query;
}

declare module 'pg/lib/utils.js' {
  /** A value as text or bytes, as the driver sends it. */
  export function prepareValue(value: unknown): unknown;
}
