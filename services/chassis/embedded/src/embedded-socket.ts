import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { PGlite } from '@electric-sql/pglite';
import { exchange, type SessionClient, type SharedSession, sharedSession } from './embedded-session.ts';
import { type ConnectionStatements, sharedStatements } from './embedded-statements.ts';

interface SocketOptions {
  path: string;
  idleInTransactionTimeoutMs: number;
  failed: (error: Error) => void;
}

/**
 * Serves `db` on a Unix socket by the PostgreSQL protocol. It replaces `@electric-sql/pglite-socket`, which queues single messages instead
 * of pipelines, stops for ever after one error, and never closes the connection of a cancel request. COPY FROM STDIN and LISTEN are not
 * supported; a cancel request has no effect, because PGlite runs a statement to its end.
 */
export async function serveOnSocket(db: PGlite, options: SocketOptions) {
  const session = sharedSession(db, options);
  const statements = sharedStatements();
  const greeting = await exchange(db, STARTUP_PACKET);
  const connections = new Map<Socket, () => void>();
  let stopping = false;

  const server = createServer((socket) => {
    const own = statements.connection();
    connections.set(socket, serveConnection(socket, { session, statements: own, greeting }));
    socket.once('close', () => {
      connections.delete(socket);
      own.end();
      if (!stopping) session.run(nobody, { exchange: () => statements.closeUnused(), unfinished: false });
    });
  });
  server.listen(options.path);
  await once(server, 'listening');

  return {
    /** Closes all connections, rolls back their transactions, and resolves when PGlite is idle. */
    async stop(): Promise<void> {
      stopping = true;
      const closed = new Promise((resolve) => server.close(resolve));
      for (const shutDown of connections.values()) shutDown();
      await session.idle();
      await closed;
    },
  };
}

/** Stands in for a client when the server itself sends statements. */
const nobody: SessionClient = { write: () => undefined, evict: () => undefined };

interface Served {
  session: SharedSession;
  statements: ConnectionStatements;
  greeting: Buffer;
}

/** Runs the messages of one connection in groups. @returns a function that closes the connection */
function serveConnection(socket: Socket, { session, statements, greeting }: Served): () => void {
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
    const messages = group;
    group = [];
    session.run(client, { exchange: () => statements.exchange(messages), unfinished: type === 'H' });
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
  // No action is needed: `close` follows every error.
  socket.on('error', () => {});
  socket.once('close', () => session.leave(client));
  return () => end(fatal('57P01', 'terminating connection due to administrator command'));
}

/** Splits a stream of bytes into protocol messages. Messages up to and including the start-up message have no type byte. */
function messageReader(started: () => boolean, onMessage: (message: Buffer) => void, onMalformed: () => void) {
  let chunks: Buffer[] = [];
  let size = 0;
  let wanted = 8;

  return function read(chunk: Buffer): void {
    chunks.push(chunk);
    size += chunk.length;
    if (size < wanted) return;
    let buffered = Buffer.concat(chunks);
    for (;;) {
      const typed = started() ? 1 : 0;
      const header = typed === 1 ? 5 : 8;
      if (buffered.length < header) {
        wanted = header;
        break;
      }
      const length = typed + buffered.readInt32BE(typed);
      if (length < header || length > LONGEST_MESSAGE_BYTES) return onMalformed();
      if (buffered.length < length) {
        wanted = length;
        break;
      }
      onMessage(buffered.subarray(0, length));
      buffered = buffered.subarray(length);
    }
    chunks = [buffered];
    size = buffered.length;
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

/** Sync, Query, FunctionCall and Flush: after these a client waits for a response. */
const ENDS_A_GROUP = 'SQFH';
/** Passwords and COPY data, which PostgreSQL ignores when it has not requested them. */
const NOT_PART_OF_A_STATEMENT = 'pdcf';
/**
 * Sent after every simple query. PGlite would crash in a COPY FROM STDIN once it has read all messages that it was given. This message
 * makes COPY FROM STDIN fail; PGlite ignores the message after any other statement.
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
