import type { ClientHttp2Session } from 'node:http2';
import { Http2SubchannelConnector } from '@grpc/grpc-js/build/src/transport.js';

type Ping = (answered: (error: Error | null, durationMs: number, payload: Buffer) => void) => boolean;

let isPatched = false;

/**
 * Patches grpc-js so that calls on a connection that received a GOAWAY (its server stops) can finish. Without the patch the next keepalive
 * ping cancels them: Node sends no ping on a closing session, and grpc-js then treats the connection as lost
 * (https://github.com/grpc/grpc-node/issues/3068). The patch replaces the ping by a SETTINGS frame, which is still sent and acknowledged.
 */
export function keepDrainingConnections(): void {
  if (isPatched) return;
  isPatched = true;
  const { prototype } = Http2SubchannelConnector;
  const { connect } = prototype;
  prototype.connect = async function connectAndPatch(...target) {
    const transport = await connect.apply(this, target);
    const { session } = transport as unknown as { session: ClientHttp2Session };
    const ping: Ping = session.ping.bind(session);
    const pingOrSettings: Ping = (answered) => {
      if (!session.closed || session.destroyed) return ping(answered);
      session.settings({}, (error, _settings, durationMs) => answered(error, durationMs, Buffer.alloc(0)));
      return true;
    };
    Object.assign(session, { ping: pingOrSettings });
    return transport;
  };
}
