import { connect, type Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

/** The connections of one client, which a test observes, freezes and breaks. */
export interface KafkaNetwork {
  socketFactory: ISocketFactory;
  /** How many produce requests were sent. */
  readonly produceRequests: number;
  /** Delays responses on the open connections until the returned function is called. */
  holdResponses(): () => void;
  /** Stops all transfer on the open connections, in both directions, without closing them. New connections work. */
  freeze(): void;
  /** Closes the open connections and refuses new ones. */
  cut(): void;
  restore(): void;
}

const produceApi = 0;

export function kafkaNetwork(): KafkaNetwork {
  const open = new Set<Socket>();
  let produceRequests = 0;
  let isCut = false;
  return {
    socketFactory({ host, port, onConnect }) {
      // Nothing listens on port 1.
      const socket = connect({ host, port: isCut ? 1 : port, noDelay: true }, onConnect);
      const write = socket.write.bind(socket);
      // A request is written in one call: its length in 4 bytes, then its API key in 2.
      socket.write = (chunk: string | Uint8Array) => {
        if (Buffer.isBuffer(chunk) && chunk.readInt16BE(4) === produceApi) produceRequests += 1;
        return write(chunk);
      };
      open.add(socket);
      socket.on('close', () => open.delete(socket));
      return socket;
    },
    get produceRequests() {
      return produceRequests;
    },
    holdResponses() {
      const held = [...open];
      for (const socket of held) socket.pause();
      return () => {
        for (const socket of held) socket.resume();
      };
    },
    freeze() {
      for (const socket of open) {
        socket.pause();
        socket.write = () => true;
      }
    },
    cut() {
      isCut = true;
      for (const socket of open) socket.destroy(new Error('cut'));
    },
    restore() {
      isCut = false;
    },
  };
}
