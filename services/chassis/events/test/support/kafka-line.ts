import { connect, type Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

/** The connections of one client, as a test watches and freezes them. */
export interface KafkaLine {
  socketFactory: ISocketFactory;
  /** How many requests that store messages were sent. */
  readonly produceRequests: number;
  /** Keeps back what the broker answers on the connections that are there, until the function that it answers is called. */
  holdAnswers(): () => void;
  /** The connections that are there carry nothing more, in either direction, and do not end. New ones are whole. */
  freeze(): void;
  /** New connections are refused, and those that are there end. */
  cut(): void;
  restore(): void;
}

const produceApi = 0;

export function kafkaLine(): KafkaLine {
  const open = new Set<Socket>();
  let produceRequests = 0;
  let isCut = false;
  return {
    socketFactory({ host, port, onConnect }) {
      // Nothing listens on port 1.
      const socket = connect({ host, port: isCut ? 1 : port, noDelay: true }, onConnect);
      const write = socket.write.bind(socket);
      // A request is written whole: its length in 4 bytes, then what it asks for in 2.
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
    holdAnswers() {
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
