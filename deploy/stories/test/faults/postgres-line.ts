import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A line to PostgreSQL that can lose the answer to a COMMIT, and only that. */
export interface PostgresLine {
  /** The database's URL by way of this line. */
  url: string;
  /** The share of transactions with something written whose COMMIT is carried out, and whose connection ends without the answer. */
  loseAnswers(share: number): void;
  /** How many answers were lost so far. */
  readonly lost: number;
  close(): Promise<void>;
}

/**
 * Opens a line that follows PostgreSQL's protocol (version 3, without TLS): clients ask for a commit by the simple query
 * `COMMIT;`, and the server says `COMMIT` when it has done it. A transaction that was rolled back instead says `ROLLBACK`, and
 * passes.
 */
export async function postgresLine(databaseUrl: string): Promise<PostgresLine> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let share = 0;
  let lost = 0;

  const hold = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };

  const server = createServer((client) => {
    hold(client);
    const database = hold(connect({ host: target.hostname, port: Number(target.port || 5432) }));
    const end = () => {
      client.destroy();
      database.destroy();
    };
    client.once('close', end);
    database.once('close', end);
    let writes = false;
    let loses = false;
    const asked = messages({ greets: true });
    client.on('data', (bytes: Buffer) => {
      for (const { type, body } of asked(bytes)) {
        const said = type === 'Q' || type === 'P' ? body.toString('latin1') : '';
        if (/^\s*BEGIN\b/iu.test(said)) writes = false;
        if (/\b(INSERT|UPDATE|DELETE)\b/iu.test(said)) writes = true;
        if (/^\s*COMMIT\b/iu.test(said)) loses = writes && Math.random() < share;
      }
      database.write(bytes);
    });
    const answered = messages({ greets: false });
    database.on('data', (bytes: Buffer) => {
      for (const { type, body } of answered(bytes)) {
        if (!loses || type !== 'C') continue;
        if (body.toString('latin1').startsWith('COMMIT')) {
          lost += 1;
          end();
          return;
        }
        loses = false;
      }
      client.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);

  return {
    url: url.href,
    loseAnswers(next) {
      share = next;
    },
    get lost() {
      return lost;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Cuts a stream of the protocol into its messages. A client's first one has no type. */
function messages({ greets }: { greets: boolean }) {
  let rest: Buffer = Buffer.alloc(0);
  let isGreeting = greets;
  return (bytes: Buffer): { type: string; body: Buffer }[] => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const whole: { type: string; body: Buffer }[] = [];
    for (;;) {
      const header = isGreeting ? 4 : 5;
      if (rest.length < header) return whole;
      const end = header + rest.readInt32BE(header - 4) - 4;
      if (rest.length < end) return whole;
      const type = isGreeting ? 'greeting' : String.fromCharCode(rest[0] ?? 0);
      whole.push({ type, body: rest.subarray(header, end) });
      isGreeting = false;
      rest = rest.subarray(end);
    }
  };
}
