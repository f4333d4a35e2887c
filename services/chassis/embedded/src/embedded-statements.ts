/** The messages to send to PGlite for a connection's messages, and the part of PGlite's response that the connection receives. */
export interface Exchange {
  bytes: Uint8Array;
  response(answer: Buffer): Buffer;
}

/** The prepared statements of one connection. */
export type ConnectionStatements = ReturnType<ReturnType<typeof sharedStatements>['connection']>;
/** A prepared statement in PGlite's session. */
interface Statement {
  name: string;
  /** Number of connections that use the statement. */
  users: number;
}

/**
 * The prepared statements of PGlite's one session. Each connection has its own statement names. When two connections prepare the same text
 * under the same name, as the connections of one pool do, the session prepares the statement once.
 */
export function sharedStatements({ maxUnused = 500 }: { maxUnused?: number } = {}) {
  /** Statements keyed by name, text and types, in the order in which they became unused. */
  const prepared = new Map<string, Statement>();
  /** Statements of which it is unknown whether they are prepared. They are not shared. */
  const unshared = new Set<Statement>();
  let count = 0;

  function connection() {
    /** The connection's statements, by the names that the connection gave them. */
    const statements = new Map<string, { statement: Statement; key: string }>();
    let isContinued = false;

    function use(own: string, key: string, statement: Statement): void {
      giveUp(own);
      statement.users += 1;
      statements.set(own, { statement, key });
    }

    function giveUp(own: string): boolean {
      const used = statements.get(own);
      if (used === undefined) return false;
      const { statement, key } = used;
      statements.delete(own);
      statement.users -= 1;
      if (prepared.get(key) === statement) {
        prepared.delete(key);
        prepared.set(key, statement);
      }
      return true;
    }

    const renamed = (message: Buffer, at: number) => {
      const used = statements.get(nameAt(message, at));
      return used === undefined ? message : withName(message, at, used.statement.name);
    };

    return {
      /** Call this when the messages are sent, because the result depends on the statements that are prepared at that time. */
      exchange(messages: Buffer[]): Exchange {
        // While a pipeline continues after a Flush, an earlier message of the pipeline may have failed; then PostgreSQL would ignore the
        // messages of this exchange.
        const isCertain = !isContinued;
        isContinued = messages.at(-1)?.[0] === FLUSH;
        let isKnown = false;
        let parsing: { own: string; key: string; statement: Statement } | undefined;
        const sent = messages.flatMap((message, index) => {
          const type = String.fromCharCode(message[0] ?? 0);
          if (type === 'B') return renamed(message, message.indexOf(0, bodyAt) + 1);
          if (type === 'D' && message[bodyAt] === statementKind) return renamed(message, bodyAt + 1);
          if (type === 'C' && message[bodyAt] === statementKind) {
            // The connection loses its name for the statement; other connections may still use the statement. Closing an unknown name has
            // no effect.
            return giveUp(nameAt(message, bodyAt + 1)) ? withName(message, bodyAt + 1, 'closed') : message;
          }
          if (type !== 'P' || nameAt(message, bodyAt) === '') return message;
          const own = nameAt(message, bodyAt);
          const key = message.toString('latin1', bodyAt);
          const known = prepared.get(key);
          // The Parse may be omitted only if it is the first message: only then is the place of its response certain.
          if (known !== undefined && index === 0 && isCertain) {
            use(own, key, known);
            isKnown = true;
            return [];
          }
          count += 1;
          const statement = { name: `statement ${count}`, users: 0 };
          unshared.add(statement);
          use(own, key, statement);
          if (index === 0 && known === undefined) parsing = { own, key, statement };
          return withName(message, bodyAt, statement.name);
        });
        return {
          bytes: Buffer.concat(sent),
          response(answer) {
            if (parsing && answer[0] === PARSE_COMPLETE[0]) {
              unshared.delete(parsing.statement);
              prepared.set(parsing.key, parsing.statement);
            } else if (parsing && answer[0] === ERROR && statements.get(parsing.own)?.statement === parsing.statement) {
              giveUp(parsing.own);
              unshared.delete(parsing.statement);
            }
            return isKnown ? Buffer.concat([PARSE_COMPLETE, answer]) : answer;
          },
        };
      },

      /** Call when the connection has ended, and call `closeUnused` afterwards. */
      end(): void {
        for (const own of statements.keys()) giveUp(own);
      },
    };
  }

  /**
   * Closes statements that no connection uses. Keeps the most recently used ones, because the next connection of a pool often prepares them
   * again. Call it outside of a transaction, because the messages end with Sync.
   */
  function closeUnused(): Exchange {
    const unused = [...prepared].filter(([, { users }]) => users === 0);
    const closed = unused.slice(0, Math.max(0, unused.length - maxUnused));
    for (const [key] of closed) prepared.delete(key);
    const names = closed.map(([, { name }]) => name);
    for (const statement of unshared) {
      if (statement.users > 0) continue;
      unshared.delete(statement);
      names.push(statement.name);
    }
    const bytes = Buffer.concat([...names.map((name) => withName(CLOSE, bodyAt + 1, name)), SYNC]);
    return { bytes, response: (answer) => answer };
  }

  return { connection, closeUnused };
}

/** The offset after a message's type and length. */
const bodyAt = 5;
const statementKind = 'S'.charCodeAt(0);
const FLUSH = 'H'.charCodeAt(0);
const ERROR = 'E'.charCodeAt(0);
const SYNC = Buffer.from('S\0\0\0\x04', 'latin1');
/** A Close message for the unnamed statement. */
const CLOSE = Buffer.from('C\0\0\0\x06S\0', 'latin1');
const PARSE_COMPLETE = Buffer.from('1\0\0\0\x04', 'latin1');

function nameAt(message: Buffer, at: number): string {
  return message.toString('latin1', at, message.indexOf(0, at));
}

function withName(message: Buffer, at: number, name: string): Buffer {
  const changed = Buffer.concat([
    message.subarray(0, at),
    Buffer.from(name, 'latin1'),
    message.subarray(message.indexOf(0, at)),
  ]);
  changed.writeInt32BE(changed.length - 1, 1);
  return changed;
}
