import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { Callers } from '../caller.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { MeshOptions } from '../tls/mesh.ts';

/** Options of every server of a unit. */
export interface ServerOptions {
  /** The unit's name, which is also the audience of its callers. */
  unit: string;
  /** Address to listen on. Default 127.0.0.1. */
  host?: string;
  /** Port to listen on; 0 takes any free port. */
  port: number;
  metrics: Metrics;
  /** Called with the address once the server listens: `host:port` for gRPC, else a URL. */
  onListening?: (address: string) => void;
}

/** Options of a server that accepts calls of other units. */
export interface MeshServerOptions extends ServerOptions {
  mesh?: MeshOptions | undefined;
  callers: Callers;
  log: Logger;
}

/** Options of a service's GraphQL server, in addition to its schema. */
export interface GraphServerOptions extends MeshServerOptions {
  /** The limit of one answer, in bytes. A larger answer fails with `ANSWER_TOO_LARGE`. Default 33,554,432 (32 MiB). */
  maxAnswerBytes?: number;
  /** Linger time of idle connections when the server stops, in ms (`httpDrain`). Default 0. */
  lingerMs?: number;
}

/** Returns `host:port`, with brackets around an IPv6 address, as required by URLs and gRPC. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Makes the server listen, by default on any free port, and resolves with the address as `host:port`. Rejects with the system's error, e.g.
 * for a port in use.
 */
export async function listen(server: Server, port = 0, host = '127.0.0.1'): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening');
  return hostAndPort(host, (server.address() as AddressInfo).port);
}
