import { createServer, type Socket } from 'node:net';
import type { PGlite } from '@electric-sql/pglite';
import { exchange, type SessionClient, type SharedSession, sharedSession } from './embedded-session.ts';

/** The PostgreSQL protocol on a Unix socket, in front of one PGlite. */
export interface EmbeddedSocket {
  /** Ends every connection, rolls back what was open, and resolves when PGlite is at rest. */
  stop(): Promise<void>;
}

interface SocketOptions {
  path: string;
  idleInTransactionTimeoutMs: number;
  failed: (error: Error) => void;
}

/**
 * Serves `db` on a Unix socket. Stands in place of `@electric-sql/pglite-socket`, whose queue holds single messages
 * instead of pipelines, stands still for good after one error, and never closes the connection of a cancel request.
 * COPY FROM STDIN and LISTEN are not served; a cancel request is taken and changes nothing, as PGlite runs a statement to its end.
 */
export async function serveOnSocket(db: PGlite, options: SocketOptions): Promise<EmbeddedSocket> {
  const session = sharedSession(db, options);
  const greeting = await exchange(db, STARTUP_PACKET);
  const connections = new Map<Socket, () => void>();

  const server = createServer((socket) => {
    connections.set(socket, serveConnection(socket, session, greeting));
    socket.once('close', () => connections.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.path, resolve);
  });

  return {
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const shutDown of connections.values()) shutDown();
      await session.idle();
      await closed;
    },
  };
}

/** Reads messages off one connection and runs them in groups; the result ends the connection from our side. */
function serveConnection(socket: Socket, session: SharedSession, greeting: Buffer): () => void {
  let started = false;
  let ended = false;
  let group: Buffer[] = [];
  const client: SessionClient = {
    write: (answer) => socket.writable && socket.write(answer),
    evict: () => end(fatal('25P03', 'terminating connection due to idle-in-transaction timeout')),
  };

  function end(notice?: Buffer): void {
    ended = true;
    session.leave(client);
    if (socket.writable) socket.end(notice ?? '', () => socket.destroy());
    else socket.destroy();
  }

  function onMessage(message: Buffer): void {
    if (ended) return;
    if (!started) return onStartup(message);
    const type = String.fromCharCode(message[0] ?? 0);
    if (type === 'X') return end();
    if (NOT_PART_OF_A_STATEMENT.includes(type)) return;
    group.push(message);
    if (!ENDS_A_GROUP.includes(type)) return;
    if (type === 'Q') group.push(COPY_FAIL);
    session.run(client, { bytes: Buffer.concat(group), unfinished: type === 'H' });
    group = [];
  }

  function onStartup(message: Buffer): void {
    const code = message.readInt32BE(4);
    if (code === SSL_REQUEST || code === GSS_REQUEST) socket.write('N');
    else if (code >> 16 === 3) {
      started = true;
      socket.write(greeting);
    } else end();
  }

  const read = messageReader(() => started, onMessage, end);
  socket.setNoDelay(true);
  socket.on('data', read);
  // Whatever the error, `close` follows it.
  socket.on('error', () => {});
  socket.once('close', () => session.leave(client));
  return () => end(fatal('57P01', 'terminating connection due to administrator command'));
}

/** Cuts a stream of bytes into protocol messages. Before the start-up message they have no type byte. */
function messageReader(started: () => boolean, onMessage: (message: Buffer) => void, onNonsense: () => void) {
  let chunks: Buffer[] = [];
  let size = 0;
  let wanted = 8;

  return function read(chunk: Buffer): void {
    chunks.push(chunk);
    size += chunk.length;
    if (size < wanted) return;
    let rest = Buffer.concat(chunks);
    for (;;) {
      const typed = started() ? 1 : 0;
      const header = typed === 1 ? 5 : 8;
      if (rest.length < header) {
        wanted = header;
        break;
      }
      const length = typed + rest.readInt32BE(typed);
      if (length < header || length > LONGEST_MESSAGE_BYTES) return onNonsense();
      if (rest.length < length) {
        wanted = length;
        break;
      }
      onMessage(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
    chunks = [rest];
    size = rest.length;
  };
}

function fatal(code: string, text: string): Buffer {
  return message('E', `SFATAL\0VFATAL\0C${code}\0M${text}\0\0`);
}

function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${body}`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}

/** Sync, Query, FunctionCall and Flush: what a client sends before it waits for an answer. */
const ENDS_A_GROUP = 'SQFH';
/** Passwords and COPY data, which PostgreSQL too ignores where it did not ask for them. */
const NOT_PART_OF_A_STATEMENT = 'pdcf';
/**
 * Follows every simple query: PGlite reads nothing after the messages it was given, and COPY FROM STDIN would take that
 * for the end of its world. So that statement fails, and every other one ignores this.
 */
const COPY_FAIL = message('f', 'COPY FROM STDIN is not served here\0');
const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const LONGEST_MESSAGE_BYTES = 2 ** 29;

const STARTUP_PACKET = (() => {
  const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
  const header = Buffer.alloc(8);
  header.writeInt32BE(parameters.length + 8, 0);
  header.writeInt32BE(3 << 16, 4);
  return Buffer.concat([header, parameters]);
})();
