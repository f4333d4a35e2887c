/** What is sent to PGlite for some messages of a connection, and what the connection gets of its response. */
export interface Exchange {
  bytes: Uint8Array;
  response(answer: Buffer): Buffer;
}

/** The prepared statements of one connection. */
export interface ConnectionStatements {
  /** Call it when the messages are sent: what is prepared by then depends on all that ran before. */
  exchange(messages: Buffer[]): Exchange;
}

/**
 * The prepared statements of PGlite's one session. Each connection has names of its own; where two prepare the same text under the
 * same name, as the connections of one pool do, the session prepares it once.
 */
export function sharedStatements(): { connection(): ConnectionStatements } {
  /** Names in the session, by what was prepared: name, text and types. */
  const prepared = new Map<string, string>();
  let count = 0;

  function connection(): ConnectionStatements {
    /** Names in the session, by those of the connection. */
    const names = new Map<string, string>();
    const renamed = (message: Buffer, at: number) => {
      const name = names.get(nameAt(message, at));
      return name === undefined ? message : withName(message, at, name);
    };

    return {
      exchange(messages) {
        let isKnown = false;
        let parsing: { key: string; name: string } | undefined;
        const sent = messages.flatMap((message, index) => {
          const type = String.fromCharCode(message[0] ?? 0);
          if (type === 'B') return renamed(message, message.indexOf(0, bodyAt) + 1);
          if (type === 'D' && message[bodyAt] === statementKind) return renamed(message, bodyAt + 1);
          if (type === 'C' && message[bodyAt] === statementKind) {
            // The connection forgets it; others may use it. Closing a name that nobody has does nothing.
            const own = nameAt(message, bodyAt + 1);
            return names.delete(own) ? withName(message, bodyAt + 1, 'closed') : message;
          }
          if (type !== 'P' || nameAt(message, bodyAt) === '') return message;
          const key = message.toString('latin1', bodyAt);
          const known = prepared.get(key);
          // Only at the beginning is it certain where the response to it belongs.
          if (known !== undefined && index === 0) {
            names.set(nameAt(message, bodyAt), known);
            isKnown = true;
            return [];
          }
          count += 1;
          const name = `statement ${count}`;
          names.set(nameAt(message, bodyAt), name);
          if (index === 0) parsing = { key, name };
          return withName(message, bodyAt, name);
        });
        return {
          bytes: Buffer.concat(sent),
          response(answer) {
            if (parsing && answer[0] === PARSE_COMPLETE[0]) prepared.set(parsing.key, parsing.name);
            return isKnown ? Buffer.concat([PARSE_COMPLETE, answer]) : answer;
          },
        };
      },
    };
  }

  return { connection };
}

/** After the type and the length. */
const bodyAt = 5;
const statementKind = 'S'.charCodeAt(0);
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
