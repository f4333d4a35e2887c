import { type Tap, TcpProxy } from '@parley/mesh/tcp-proxy';

/**
 * Opens a proxy to PostgreSQL that can drop the response to a COMMIT, but nothing else. The proxy parses the protocol (version 3, without
 * TLS): clients send the simple query `COMMIT;`, and the server responds with `COMMIT`. For a transaction that was rolled back, the server
 * responds with `ROLLBACK`, which is not dropped.
 */
export async function postgresLine(databaseUrl: string) {
  let share = 0;
  let lost = 0;

  function tap(): Tap {
    let writes = false;
    let loses = false;
    const prepared = new Map<string, string>();
    const [asked, answered] = [messages(4), messages(5)];
    return {
      asked(bytes) {
        for (const { type, body } of asked(bytes)) {
          const said = statementIn(type, body, prepared);
          if (/^\s*BEGIN\b/iu.test(said)) writes = false;
          if (/\b(INSERT|UPDATE|DELETE)\b/iu.test(said)) writes = true;
          if (/^\s*COMMIT\b/iu.test(said)) loses = writes && Math.random() < share;
        }
        return [bytes];
      },
      answered(bytes) {
        for (const { type, body } of answered(bytes)) {
          if (!loses || type !== 'C') continue;
          loses = body.toString('latin1').startsWith('COMMIT');
          if (!loses) continue;
          lost += 1;
          throw new Error('the answer is lost');
        }
        return [bytes];
      },
    };
  }

  const url = new URL(databaseUrl);
  const proxy = await new TcpProxy([url.host], { tap }).open();
  url.host = `127.0.0.1:${proxy.port}`;
  return {
    /** The URL of the database through the proxy. */
    url: url.href,
    /** Sets the share of writing transactions whose connection is closed after COMMIT was executed and before its response is sent. */
    loseAnswers(next: number) {
      share = next;
    },
    /** Returns the number of responses dropped so far. */
    lost: () => lost,
    close: () => proxy.close(),
  };
}

/**
 * Returns the statement that a message parses or runs; empty for any other kind of message. `prepared` maps the names of prepared
 * statements to their texts.
 */
function statementIn(type: string, body: Buffer, prepared: Map<string, string>): string {
  if (type === 'Q') return body.toString('latin1');
  const [first = '', second = ''] = type === 'P' || type === 'B' ? body.toString('latin1').split('\0', 2) : [];
  if (type === 'B') return prepared.get(second) ?? '';
  if (first !== '') prepared.set(first, second);
  return second;
}

/** Splits a protocol stream into messages. A client's first message has no type, so its header has 4 bytes instead of 5. */
function messages(firstHeader: 4 | 5) {
  let rest: Buffer = Buffer.alloc(0);
  let header: number = firstHeader;
  return function* (bytes: Buffer): Generator<{ type: string; body: Buffer }> {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    while (rest.length >= header) {
      const end = header + rest.readInt32BE(header - 4) - 4;
      if (rest.length < end) return;
      const message = { type: header === 4 ? '' : String.fromCharCode(rest[0] ?? 0), body: rest.subarray(header, end) };
      rest = rest.subarray(end);
      header = 5;
      yield message;
    }
  };
}
