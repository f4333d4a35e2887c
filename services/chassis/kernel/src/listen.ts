import type { Server } from 'node:http';

/** Listens, and rejects with the system's error (a taken port) instead of emitting it. */
export function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
