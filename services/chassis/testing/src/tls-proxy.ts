import { connect, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { listen } from '@parley/kernel/http/listen';
import type { TestCertificate } from './test-authority.ts';

export interface TlsProxyOptions {
  /** `host:port` of a server without TLS. */
  to: string;
  certificate: TestCertificate;
  /** Whether a client sends an unencrypted request for TLS first, as PostgreSQL's clients do. Default false. */
  negotiated?: boolean;
  /** Replaces data from the server by data of the same length. `port` is the proxy's own port. */
  answers?: (bytes: Buffer, port: number) => Buffer;
}

/** A proxy that adds TLS to a server without TLS. */
export async function tlsProxy({ to, certificate, negotiated = false, answers }: TlsProxyOptions) {
  const secureContext = createSecureContext(certificate);
  const target = new URL(`tcp://${to}`);
  const open = new Set<Socket>();

  function encrypt(client: Socket): void {
    const secure = new TLSSocket(client, { isServer: true, secureContext });
    const upstream = connect({ host: target.hostname, port: Number(target.port) });
    for (const [socket, other] of [
      [secure, upstream],
      [upstream, secure],
    ] as const) {
      open.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(socket);
          other.destroy();
        });
    }
    secure.pipe(upstream);
    upstream.on('data', (bytes) => secure.write(answers?.(bytes, port) ?? bytes));
  }

  const server = createServer((client) => {
    client.on('error', () => undefined);
    if (!negotiated) return encrypt(client);
    // The client requests TLS, and waits for the answer `S` before it sends more.
    client.once('data', () => {
      client.write('S');
      encrypt(client);
    });
  });
  const address = await listen(server);
  const port = Number(new URL(`tcp://${address}`).port);
  return {
    port,
    close(): void {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
