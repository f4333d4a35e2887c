import type { ClientHttp2Session } from 'node:http2';
import { Http2SubchannelConnector } from '@grpc/grpc-js/build/src/transport.js';

type Ping = (answered: (error: Error | null, durationMs: number, payload: Buffer) => void) => boolean;

let isKept = false;

/**
 * Has the channels of this process keep a connection that its server has asked them to leave (GOAWAY, as a server does that
 * stops) until its calls are over. Without it grpc-js cuts all of these calls when its next keepalive ping is due: Node sends
 * none once a session is closing, and grpc-js takes that for a lost connection (https://github.com/grpc/grpc-node/issues/3068).
 * Settings are still sent then and acknowledged, so that they tell as well whether the server is there.
 */
export function keepDrainingConnections(): void {
  if (isKept) return;
  isKept = true;
  const { prototype } = Http2SubchannelConnector;
  const { connect } = prototype;
  prototype.connect = async function connectKept(...target) {
    const transport = await connect.apply(this, target);
    const { session } = transport as unknown as { session: ClientHttp2Session };
    const ping: Ping = session.ping.bind(session);
    const pingAlways: Ping = (answered) => {
      if (!session.closed || session.destroyed) return ping(answered);
      session.settings({}, (error, _settings, durationMs) => answered(error, durationMs, Buffer.alloc(0)));
      return true;
    };
    Object.assign(session, { ping: pingAlways });
    return transport;
  };
}
