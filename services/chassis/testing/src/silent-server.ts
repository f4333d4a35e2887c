import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { listen } from '@parley/kernel/http/listen';

/** A server that accepts connections and never sends anything: a TLS handshake with it never ends. */
export async function startSilentServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // Reads the socket, so that the server notices when the peer disconnects.
    socket
      .resume()
      .on('error', () => undefined)
      .on('close', () => sockets.delete(socket));
  });
  const address = await listen(server);
  return {
    url: `https://${address}`,
    get connections() {
      return sockets.size;
    },
    async stop(): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
